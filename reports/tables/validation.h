// Predicted against measured, for people and for scripts.
//
// validation.csv has one row per plan that was looked at; reports/README.md has its columns. A number that there is not
// is empty.
//
// Tested by validation_report_test.
#ifndef SPILLWAY_REPORTS_TABLES_VALIDATION_H_
#define SPILLWAY_REPORTS_TABLES_VALIDATION_H_

#include <string>

#include "calibrate/validate/results.h"

namespace spillway {

std::string ValidationCsv(const ValidationSet& set);
// The table of its columns in reports/README.md: "| name | meaning |", a line each.
std::string ValidationColumnPage();

// One row per model: variant, median_error, worst_error, tau, full_closer, full_farther, sign_test_p, gain_low, gain_high,
// verdict, scaled (1: with one factor per case for each model). gain: |its error| - |the full model's|.
std::string FalsificationCsv(const ValidationSet& set);

std::string NumericsText(const Numerics& numerics);  // "bitwise", "3.1e-07", "skipped"

// "do not trust these numbers: load 4.0, rounds differ by 31 %\n"; "" where nothing speaks against them.
std::string NoiseVerdict(const MachineNoise& noise);

// A block per case with its rows.
std::string ValidationCaseTable(const ValidationSet& set, std::size_t case_index);
// Errors by group, order, choice, falsification, notes, and what the columns mean.
std::string ValidationSummaryTable(const ValidationSet& set);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_VALIDATION_H_
