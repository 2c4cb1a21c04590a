// What many rows of predicted and measured step times come to.
//
// Tested by validate_summary_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_SUMMARY_H_
#define SPILLWAY_CALIBRATE_VALIDATE_SUMMARY_H_

#include <span>
#include <string>
#include <vector>

#include "sim/validation.h"

namespace spillway {

// Sets what the rows of a case say about it: the order of all of them, and the choice of a strategy with what it costs.
// Rows that were not measured do not count. Of strategies predicted to take the same time the first one is the choice.
// It is as good as the best one within noise if the interval of their ratio, rounds drawn together, holds 1. Two rows
// differ beyond noise (clear_pairs) if their ratio's 99 % interval does not.
void JudgeCase(std::span<const ValidationRow> rows, std::uint64_t seed, ValidationCase& place);

// Signed median, and median and largest magnitude of `errors`. REQUIRES: at least one.
ErrorSummary SummaryOf(std::string group, const std::vector<double>& errors);

// A network counts as seen in calibration if the launches that were timed there make up this share of its kernel time.
constexpr double kSeenShare = 0.5;

// Sets tau, clear_pairs, clear_right, best_or_noise, judged, median_replay and summaries from cases and rows.
void SummariseSet(ValidationSet& set);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_SUMMARY_H_
