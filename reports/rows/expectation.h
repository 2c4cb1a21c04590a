// Published or required figures beside ours: "paper | ours | difference | source | within?".
//
// A figure is only reported unless it is a gate: `within` for numbers, `required` for feasibility and bounds.
#ifndef SPILLWAY_REPORTS_ROWS_EXPECTATION_H_
#define SPILLWAY_REPORTS_ROWS_EXPECTATION_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "hw/text/units.h"
#include "reports/rows/measure.h"

namespace spillway {

// Which rows are meant; an empty or zero field matches everything. Networks and machines are named in full or by
// their base name, which matches every variant.
struct RowSelector {
  std::string scenario{}, network{}, machine{}, strategy{};
  std::int64_t batch = 0;
  Bytes memory_limit = 0;
  bool Matches(const ResultRow& row) const;
};

// Of a selector that matches none of the rows: what no row has, with the nearest name.
std::string WhyNone(const RowSelector& where, const std::vector<const ResultRow*>& rows);

// One published value, or the range that a text or a figure gives; low == high for one value. Either end may be
// infinite ("at least 1.0").
struct ValueRange {
  double low = 0, high = 0;
  // Half of the last digit that a single value was published with: 89 % is 88.5 to 89.5.
  double half_digit = 0;
};

struct Expectation {
  RowSelector where;
  Measure measure = Measure::kSamplesPerSecond;
  ValueRange value;
  RowSelector
      other;  // of Measure::kRatio: what differs in the row compared with; its empty fields are those of the row
  std::string source;
  std::string why;               // shown with the line: what explains a difference
  std::optional<double> within;  // gate: largest relative difference allowed
  bool required = false;         // gate: the value must lie in the range as it is
  Mark mark;                     // in the scenario file
  std::string claim;             // in the words of who published it; "": the figure says it
  bool counted = true;           // false: shown only, since where it was published could not be looked up
};

// An expectation held against one row.
struct Verdict {
  const Expectation* expectation = nullptr;
  const ResultRow* row = nullptr;
  std::optional<double> ours;           // nothing when the row (or the one compared with) is not feasible
  const ResultRow* compared = nullptr;  // the row that a ratio or a share below in-core is against
  double difference = 0;                // relative to the nearest end of the range; 0 inside it
  bool gate = false;                    // never where a time of unified memory comes in, which is assumed
  bool passed = true;                   // of a gate
};

inline bool FailsGate(const Verdict& verdict) { return verdict.gate && !verdict.passed; }

// One verdict per expectation and row it selects, in the order of expectations, then rows.
// O((expectations + log(rows)) x rows).
std::vector<Verdict> Judge(const std::vector<ResultRow>& rows, const std::vector<Expectation>& expectations);

// The verdicts of each expectation, which follow each other, in order.
std::vector<std::span<const Verdict>> ByExpectation(const std::vector<Verdict>& verdicts);

// The figure under each draw of the cost model's errors that the row, and the row that it is compared with, have in common;
// nothing where there are none: of figures that no error of a cost moves.
std::vector<double> DrawsOf(const Verdict& verdict);

// The rows (of those judged) of which an expectation says that they do not run, and which do not.
std::set<const ResultRow*> ExpectedNotToRun(const std::vector<Verdict>& verdicts);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_EXPECTATION_H_
