// Results of a validation (predicted against measured step times) as tables for people and CSV files for scripts.
//
// validation.csv has one row per plan; reports/README.md lists its columns. A cell without a number is empty.
//
// Tested by validation_report_test.
#ifndef SPILLWAY_REPORTS_TABLES_VALIDATION_H_
#define SPILLWAY_REPORTS_TABLES_VALIDATION_H_

#include <string>

#include "calibrate/validate/results.h"

namespace spillway {

std::string ValidationCsv(const ValidationSet& set);
// The table of these columns for reports/README.md, one line "| name | meaning |" each.
std::string ValidationColumnPage();

// falsification.csv, one row per model: variant, median_error, worst_error, tau, full_closer, full_farther,
// sign_test_p, gain_low, gain_high, verdict, scaled (1: with one factor per case for each model). The gain is the
// model's |error| minus the full model's |error|.
std::string FalsificationCsv(const ValidationSet& set);

std::string NumericsText(const Numerics& numerics);  // "bitwise", "3.1e-07", "skipped"

// A warning if the machine was too noisy: "do not trust these numbers: load 4.0, rounds differ by 31 %\n"; else "".
std::string NoiseVerdict(const MachineNoise& noise);

// The table of one case with its rows.
std::string ValidationCaseTable(const ValidationSet& set, std::size_t case_index);
// The summary: errors by group, order of plans, choice of strategies, falsification, notes, and a legend of the
// columns.
std::string ValidationSummaryTable(const ValidationSet& set);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_VALIDATION_H_
