#include "reports/rows/result_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace spillway {

namespace {

struct UnitTraits {
  const char* word;  // in the reference
  double scale = 1;  // of floating-point fields, and their digits after the point in CSV
  int digits = 4;
};

// By ColumnUnit and by ColumnKnown.
constexpr std::array<UnitTraits, 8> kUnits = {{{"text"},
                                               {"count"},
                                               {"bytes"},
                                               {"seconds"},
                                               {"ratio"},
                                               {"per second"},
                                               {"bytes per second", static_cast<double>(kSecond), 0},
                                               {"object"}}};
constexpr std::array<const char*, 4> kRowsOf = {"all", "that run", "with a bound", "with a reference"};

const UnitTraits& TraitsOf(ColumnUnit unit) { return kUnits.at(static_cast<std::size_t>(unit)); }

template <typename T>
Cell InCell(ColumnUnit unit, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return Ratio{value * TraitsOf(unit).scale, TraitsOf(unit).digits};
  } else if constexpr (std::is_integral_v<T>) {
    return unit == ColumnUnit::kSeconds ? Cell(ExactSeconds{value}) : Cell(std::int64_t{value});
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return std::string(value);
  } else {
    return value;
  }
}

constexpr ColumnPlace Csv(int number) { return {.csv = true, .number = number, .page = false}; }
constexpr ColumnPlace Page(int number) { return {.csv = true, .number = number, .page = true}; }
constexpr ColumnPlace Json(int number) { return {.csv = false, .number = number, .page = false}; }

std::vector<ResultColumn> InTheirPlaces() {
  using enum ColumnUnit;
  using enum ColumnKnown;
  std::vector<ResultColumn> columns = {
#define ROW_FIELD(FIELD, KEY)
#define ROW_FIGURE(PLACE, NAME, UNIT, KNOWN, VALUE, MEANING)                                   \
  {PLACE,                                                                                      \
   NAME,                                                                                       \
   UNIT,                                                                                       \
   KNOWN,                                                                                      \
   MEANING,                                                                                    \
   [](const ResultRow& row [[maybe_unused]], const Standing& among [[maybe_unused]]) -> Cell { \
     return InCell(UNIT, VALUE);                                                               \
   }},
#define ROW_COLUMN(FIELD, KEY, PLACE, NAME, UNIT, KNOWN, MEANING) \
  ROW_FIGURE(PLACE, NAME, UNIT, KNOWN, row.FIELD, MEANING)
#include "reports/rows/row_fields.inc"
  };
  std::sort(columns.begin(), columns.end(),
            [](const ResultColumn& a, const ResultColumn& b) { return a.place < b.place; });
  return columns;
}

bool IsKnown(ColumnKnown known, const ResultRow& row, const Standing& among) {
  using enum ColumnKnown;
  switch (known) {
    case kAlways:
      return true;
    case kRuns:
      return row.feasible;
    case kBounded:
      return row.feasible && row.bounds.lower > 0;
    case kReferenced:
      return row.feasible && among.reference != nullptr;
  }
  return false;
}

}  // namespace

const std::vector<ResultColumn>& ResultKeys() {
  static const std::vector<ResultColumn> keys = InTheirPlaces();
  return keys;
}

const std::vector<ResultColumn>& ResultColumns() {
  static const std::vector<ResultColumn> columns = [] {
    std::vector<ResultColumn> of_csv = ResultKeys();
    std::erase_if(of_csv, [](const ResultColumn& column) { return !column.place.csv; });
    return of_csv;
  }();
  return columns;
}

Cell CellOf(const ResultColumn& column, const ResultRow& row, const Standing& standing) {
  return IsKnown(column.known, row, standing) ? column.of(row, standing) : Cell{};
}

std::string ResultColumnPage() {
  std::string columns = "| column | unit | of rows | meaning |\n|---|---|---|---|\n";
  std::string keys = "| key | unit | of rows | meaning |\n|---|---|---|---|\n";
  for (const ResultColumn& column : ResultKeys()) {
    (column.place.csv ? columns : keys) +=
        fmt::format("| `{}` | {} | {} | {} |\n", column.name, TraitsOf(column.unit).word,
                    kRowsOf.at(static_cast<std::size_t>(column.known)), column.meaning);
  }
  return columns + "\nThe rows of results.json have the same keys, then these:\n\n" + keys;
}

}  // namespace spillway
