// The ledger of claims: what was published, what ours comes to, how sure that is and what moves it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "model/stats/quantile.h"
#include "reports/rows/result_row.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"

namespace spillway {

namespace {

using ClaimRows = std::span<const Verdict>;

std::string ClaimText(const Verdict& v) {
  const Expectation& e = *v.expectation;
  const char* which = e.measure == Measure::kMeanSavingBesideParameters ? ", without parameters" : "";
  if (!e.claim.empty()) return e.claim + which;
  const std::string on = e.where.machine.empty() ? "" : " on " + v.row->machine;
  return fmt::format("{} b={} {} {}{}", v.row->network, v.row->batch, v.row->strategy, MeasureText(e), on);
}

// From the 10th to the 90th percentile of the draws.
std::optional<ValueRange> IntervalOf(const Verdict& v) {
  std::vector<double> draws = DrawsOf(v);
  if (draws.empty()) return std::nullopt;
  std::sort(draws.begin(), draws.end());
  return ValueRange{SortedQuantile(draws, 0.1), SortedQuantile(draws, 0.9)};
}

std::string IntervalText(const Verdict& v) {
  const std::optional<ValueRange> interval = IntervalOf(v);
  return interval ? RangeText(v.expectation->measure, interval->low, interval->high) : "";
}

bool IsWhatOthersAreComparedWith(const Verdict& v) {
  const Bytes memory = v.expectation->other.memory_limit;
  return memory != 0 && v.row->memory_limit == memory;
}

// Over all rows of the claim; "" where there is one.
std::string SpreadText(ClaimRows rows) {
  double low = INFINITY, high = -INFINITY;
  std::size_t with = 0, without = 0;
  for (const Verdict& v : rows) {
    if (IsWhatOthersAreComparedWith(v)) continue;
    (v.ours ? with : without) += 1;
    if (!v.ours) continue;
    low = std::min(low, *v.ours);
    high = std::max(high, *v.ours);
  }
  if (with + without < 2) return "";
  const std::string range = with == 0 ? "" : RangeText(rows[0].expectation->measure, low, high);
  if (without == 0) return range;
  return fmt::format("{}{}{} of {} do not run", range, with == 0 ? "" : ", ", without, with + without);
}

// To the digits that a single value was published with; of a range inside it.
bool AgreesAsPublished(const Verdict& v) {
  if (!v.ours) return false;
  const ValueRange& published = v.expectation->value;
  return v.difference == 0 ||
         (published.low == published.high && std::abs(*v.ours - published.low) <= published.half_digit);
}

bool IntervalReaches(const Verdict& v) {
  const std::optional<ValueRange> interval = IntervalOf(v);
  const ValueRange& published = v.expectation->value;
  return interval && interval->low <= published.high && interval->high >= published.low;
}

enum class ClaimStanding : std::uint8_t { kHolds, kIntervalReaches, kOff, kFailedGate, kNothingToCompare };

// A gate fails where any of its rows does, as the exit status of --check has it. One of a figure that no row has, as the
// others do not run there, says nothing.
ClaimStanding StandingOf(ClaimRows rows) {
  const Verdict& v = rows[0];
  if (std::any_of(rows.begin(), rows.end(), FailsGate)) return ClaimStanding::kFailedGate;
  const bool none = std::none_of(rows.begin(), rows.end(), [](const Verdict& row) { return row.ours.has_value(); });
  if (v.gate && none && v.expectation->measure != Measure::kFeasible) return ClaimStanding::kNothingToCompare;
  if (v.gate || AgreesAsPublished(v)) return ClaimStanding::kHolds;
  return IntervalReaches(v) ? ClaimStanding::kIntervalReaches : ClaimStanding::kOff;
}

std::string StandingText(const Expectation& e, ClaimStanding standing) {
  if (standing == ClaimStanding::kFailedGate) return "NO";
  if (!e.counted || standing == ClaimStanding::kNothingToCompare) return "-";
  if (standing == ClaimStanding::kHolds) return "holds";
  return standing == ClaimStanding::kOff ? "off" : "in 80 %";
}

struct ClaimCounts {
  int gates = 0, gates_hold = 0, figures = 0, figures_hold = 0, figures_reached = 0, shown = 0;
  void Add(const Expectation& e, ClaimStanding standing) {
    const int holds = standing == ClaimStanding::kHolds ? 1 : 0;
    if (!e.counted || standing == ClaimStanding::kNothingToCompare) {
      ++shown;
    } else if (e.measure == Measure::kFeasible) {
      ++gates;
      gates_hold += holds;
    } else {
      ++figures;
      figures_hold += holds;
      figures_reached += standing == ClaimStanding::kIntervalReaches ? 1 : 0;
    }
  }
  std::string Text() const {
    return fmt::format(
        "{} of {} boundaries (what fits into memory, what does not) hold. {} of {} figures agree with the published "
        "digits; the 80 % intervals of {} more reach the published figure. {} are shown only.\n",
        gates_hold, gates, figures_hold, figures, figures_reached, shown);
  }
};

void AddClaim(TextTable& table, ClaimRows rows, ClaimStanding standing) {
  const Verdict& v = rows[0];
  const Expectation& e = *v.expectation;
  table.Row({"  " + ClaimText(v), RangeText(e.measure, e.value.low, e.value.high),
             v.ours ? ValueText(e.measure, *v.ours) : "does not run", IntervalText(v), SpreadText(rows),
             DifferenceText(v), StandingText(e, standing)});
  if (!v.row->feasible && v.difference != 0) table.Line("    " + v.row->reason);
  if (!e.why.empty()) table.Line("    why: " + e.why);
}

}  // namespace

std::string ClaimsTable(const std::vector<Verdict>& verdicts) {
  TextTable table({"<  claim", "published", "ours", "80 %", "over its settings", "difference", "<stands"});
  ClaimCounts counts;
  const std::string* source = nullptr;
  for (const ClaimRows rows : ByExpectation(verdicts)) {
    const Expectation& e = *rows[0].expectation;
    if (source == nullptr || e.source != *source) table.Line(e.source);
    source = &e.source;
    const ClaimStanding standing = StandingOf(rows);
    AddClaim(table, rows, standing);
    counts.Add(e, standing);
  }
  return table.Text() + "\n" + counts.Text();
}

}  // namespace spillway
