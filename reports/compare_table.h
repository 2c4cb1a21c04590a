// Two machines side by side: who wins, and what the other one spends its time on instead.
#ifndef SPILLWAY_REPORTS_COMPARE_TABLE_H_
#define SPILLWAY_REPORTS_COMPARE_TABLE_H_

#include <string>

#include "reports/result.h"

namespace spillway {

// One line per network, batch and strategy, and one for the best strategy of each machine.
std::string CompareTable(const ResultSet& results, const std::string& machine_a, const std::string& machine_b);

// What takes the slower row longer: the largest difference among compute, recomputation and the stalls, as text
// ("spends 310 ms more recomputing"). Empty when nothing is longer.
std::string WhySlower(const ResultRow& slower, const ResultRow& faster);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_COMPARE_TABLE_H_
