// The table a user reads: one block per scenario, network, machine and memory limit.
#ifndef SPILLWAY_REPORTS_RESULT_TABLE_H_
#define SPILLWAY_REPORTS_RESULT_TABLE_H_

#include <string>

#include "reports/result.h"

namespace spillway {

// Figures of one block share a unit of time, named in the header. A row that is not feasible shows why. The columns
// are explained below the last block.
std::string ResultTable(const ResultSet& results);

// Three significant digits without an exponent: 3280, 328, 32.8, 3.28, 0.328.
std::string ShortNumber(double value);
std::string Percent(double fraction);                 // "12 %", "-3 %"
std::string ClassesText(const ClassCounts& classes);  // "66/12/27"

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_RESULT_TABLE_H_
