// The columns of results.csv, one table for the CSV, the JSON and the page that explains them (reports/README.md).
#ifndef SPILLWAY_REPORTS_ROWS_RESULT_COLUMNS_H_
#define SPILLWAY_REPORTS_ROWS_RESULT_COLUMNS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "reports/rows/standing.h"

namespace spillway {

// A time, shown as seconds with nine digits: nothing is lost.
struct ExactSeconds {
  Nanos time = 0;
};
// A figure without a unit, or one whose last digits mean nothing.
struct Ratio {
  double value = 0;
  int digits = 4;  // behind the point, in CSV
};
// Nothing: there is no such figure.
using Cell = std::variant<std::monostate, std::string, std::int64_t, ExactSeconds, Ratio>;

struct ResultColumn {
  const char* name;
  const char* meaning;  // with its unit, for the page
  Cell (*of)(const ResultRow& row, const Standing& standing);
  bool known_before = false;  // also of a row that is not feasible; else nothing there
};

// Whoever changes the meaning of a key of results.json or takes one away raises the version.
constexpr const char* kResultsFormat = "spillway-results";
constexpr int kResultsVersion = 1;

// Columns are only ever added, at the end: scripts rely on them.
const std::vector<ResultColumn>& ResultColumns();
// What the column shows of a row; nothing for most columns of rows that are not feasible.
Cell CellOf(const ResultColumn& column, const ResultRow& row, const Standing& standing);

// The table of reports/README.md: one line "| name | meaning |" each.
std::string ResultColumnPage();

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RESULT_COLUMNS_H_
