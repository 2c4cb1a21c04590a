// The columns of results.csv and the keys of results.json, as reports/rows/row_fields.inc lists them: one table for both
// files, for what report.html needs and for the reference in reports/README.md.
//
// Tested by reports_test.
#ifndef SPILLWAY_REPORTS_ROWS_RESULT_COLUMNS_H_
#define SPILLWAY_REPORTS_ROWS_RESULT_COLUMNS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "reports/rows/standing.h"

namespace spillway {

// A change that removes a key of results.json, or changes its meaning, must raise the version.
constexpr const char* kResultsFormat = "spillway-results";
constexpr int kResultsVersion = 2;  // 1: `loss` is below_in_core, rows with other numbers may be `best`

// ---- Cells: one value of a row, as files write it.

// A time, written as seconds with nine digits: nothing is lost.
struct ExactSeconds {
  Nanos time = 0;
};
// A figure without a unit, or one whose last digits mean nothing.
struct Ratio {
  double value = 0;
  int digits = 4;  // after the point, in CSV
};
using TextByName = std::vector<std::pair<std::string, std::string>>;
// The value of a column; monostate: there is no such figure. The last two kinds occur only in results.json, as objects.
using Cell = std::variant<std::monostate, std::string, std::int64_t, ExactSeconds, Ratio, BytesByClass, TextByName>;

// ---- Columns.

enum class ColumnUnit : std::uint8_t {
  kText,
  kCount,
  kBytes,
  kSeconds,  // of nanoseconds
  kRatio,    // four digits in CSV, as kPerSecond
  kPerSecond,
  kBytesPerSecond,  // of bytes per nanosecond; whole in CSV
  kByName,          // an object
};

enum class ColumnKnown : std::uint8_t {
  kAlways,
  kRuns,        // of feasible rows
  kBounded,     // of those that have a lower bound
  kReferenced,  // only for feasible rows with an in-core row to compare with (Standing::reference)
};

struct ColumnPlace {
  bool csv;    // else a key of results.json alone
  int number;  // from 1, of each kind
  bool page;   // report.html cannot do without it
  bool operator<(const ColumnPlace& other) const { return csv != other.csv ? csv : number < other.number; }
};

struct ResultColumn {
  ColumnPlace place;
  const char* name;
  ColumnUnit unit;
  ColumnKnown known;
  const char* meaning;
  Cell (*of)(const ResultRow& row, const Standing& among);  // REQUIRES: the row is one of `known`
};

// Columns are only ever added, at the end: scripts rely on them.
const std::vector<ResultColumn>& ResultColumns();
// The columns, then the keys that only results.json has.
const std::vector<ResultColumn>& ResultKeys();

// The value of a column in a row; monostate where there is none.
Cell CellOf(const ResultColumn& column, const ResultRow& row, const Standing& standing);

// The reference in reports/README.md: tables of the columns and of the further keys, one line each.
std::string ResultColumnPage();

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RESULT_COLUMNS_H_
