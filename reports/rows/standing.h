// How a row stands among the others of its run.
//
// Tested by standing_test.
#ifndef SPILLWAY_REPORTS_ROWS_STANDING_H_
#define SPILLWAY_REPORTS_ROWS_STANDING_H_

#include <string>
#include <vector>

#include "reports/rows/result_row.h"

namespace spillway {

// 1 - throughput / throughput of the in-core reference, in input elements per second.
double BelowInCore(const ResultRow& reference, const ResultRow& row);

// Pointers are into the rows asked about.
struct Standing {
  // The in-core row that out-of-core rows are measured against: the fastest in input elements per second. It has the
  // same scenario, network, options, machine and memory limit. Its image size and runtime may differ: the cost of a
  // runtime is part of the difference, the ops of another framework are not. nullptr if no in-core row is feasible.
  const ResultRow* reference = nullptr;
  // Of the rows with the numbers of the whole batch (RowPlan::numbers) the fastest of the same scenario, network, batch,
  // machine and memory limit; nullptr where none runs.
  const ResultRow* best = nullptr;
  // A row that should not be faster and is, by more than kWorthSaying: the same strategy with less memory or on a slower
  // link, or a strategy that decides less (RowGrouping::choices) at the same place and on the same runtime; the fastest
  // of those. Both compute the same numbers. Else nullptr.
  const ResultRow* beaten_by = nullptr;
};
constexpr double kWorthSaying = 0.01;  // below, layouts and orders of copies decide

// One per row, in their order; a row that is not feasible has no `beaten_by`. O(n log n).
std::vector<Standing> Standings(const std::vector<ResultRow>& rows);

// "best", "equal" for a row that may as well be, given what the cost model knows (sim/uncertainty/uncertainty.h), or "".
// A row with other numbers than the whole batch has its RowPlan::numbers instead: "changed", "redrawn". `best`:
// Standing::best of the row.
std::string StandingWord(const ResultRow& row, const ResultRow* best);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_STANDING_H_
