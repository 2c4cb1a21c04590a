#include "reports/rows/expectation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <tuple>

#include "hw/text/lists.h"
#include "reports/rows/result_row.h"
#include "reports/rows/standing.h"

namespace spillway {

namespace {

bool SameOrAny(const std::string& wanted, const std::string& name, const std::string& base) {
  return wanted.empty() || wanted == name || wanted == base;
}

// The rows of one run, found by what every selector of a ratio's other row says in full.
class RowIndex {
 public:
  explicit RowIndex(const std::vector<ResultRow>& rows) {
    for (const ResultRow& row : rows)
      by_key_[{row.scenario, row.strategy, row.batch, row.memory_limit}].push_back(&row);
  }

  // The first that is `row` but for what `change` says; nullptr when there is none.
  const ResultRow* Find(const ResultRow& row, const RowSelector& change) const {
    RowSelector wanted{row.scenario, row.network, row.machine, row.strategy, row.batch, row.memory_limit};
    if (!change.network.empty()) wanted.network = change.network;
    if (!change.machine.empty()) wanted.machine = change.machine;
    if (!change.strategy.empty()) wanted.strategy = change.strategy;
    if (change.batch != 0) wanted.batch = change.batch;
    if (change.memory_limit != 0) wanted.memory_limit = change.memory_limit;
    const auto found = by_key_.find({wanted.scenario, wanted.strategy, wanted.batch, wanted.memory_limit});
    if (found == by_key_.end()) return nullptr;
    for (const ResultRow* other : found->second) {
      if (wanted.Matches(*other)) return other;
    }
    return nullptr;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::int64_t, Bytes>;
  std::map<Key, std::vector<const ResultRow*>> by_key_;
};

// What does not run has throughput 0: a bound on a ratio then holds or fails without a figure, and it holds when neither
// of the two runs.
bool BoundHoldsWithoutFigure(const ResultRow& row, const ResultRow* other, const Expectation& e) {
  if (e.measure != Measure::kRatio || other == nullptr) return false;
  const bool holds_at_zero = std::isinf(e.value.low) || e.value.low <= 0;
  const bool holds_at_infinity = std::isinf(e.value.high);
  return row.feasible ? holds_at_infinity : !other->feasible || holds_at_zero;
}

// Shares may be near zero: their differences are given in points, not relative to the share itself.
double DifferenceFrom(Measure measure, const ValueRange& range, double ours) {
  if (ours >= range.low && ours <= range.high) return 0;
  const double end = ours < range.low ? range.low : range.high;
  const MeasureForm form = TraitsOf(measure).form;
  if (form == MeasureForm::kShare || form == MeasureForm::kFits) return ours - end;
  return end == 0 ? ours : ours / end - 1;
}

// Times of unified memory are assumptions: nothing is held to them, and no ratio over them is confirmed.
bool IsAssumed(const ResultRow& row, const Expectation& e) {
  return row.plan.memory_model.starts_with("managed") && e.measure != Measure::kFeasible;
}

Verdict JudgeRow(const ResultRow& row, const ResultRow* reference, const RowIndex& rows, const Expectation& e) {
  const ResultRow* const other = e.measure == Measure::kRatio ? rows.Find(row, e.other) : nullptr;
  Verdict verdict;
  verdict.expectation = &e;
  verdict.row = &row;
  verdict.compared = e.measure == Measure::kRatio ? other : e.measure == Measure::kBelowInCore ? reference : nullptr;
  verdict.ours = ValueOf(e.measure, {row, reference, other});
  verdict.gate =
      (e.within.has_value() || e.required) && !IsAssumed(row, e) && (other == nullptr || !IsAssumed(*other, e));
  if (verdict.ours) verdict.difference = DifferenceFrom(e.measure, e.value, *verdict.ours);
  if (verdict.gate) {
    // A tolerance of 1e-9 keeps "at least 1" from failing on the last bit of a quotient.
    verdict.passed = verdict.ours ? std::abs(verdict.difference) <= e.within.value_or(0) + 1e-9
                                  : BoundHoldsWithoutFigure(row, other, e);
  }
  return verdict;
}

}  // namespace

bool RowSelector::Matches(const ResultRow& row) const {
  if (!SameOrAny(scenario, row.scenario, row.scenario) || !SameOrAny(strategy, row.strategy, row.strategy))
    return false;
  if (!SameOrAny(network, row.network, row.grouping.network)) return false;
  if (!SameOrAny(machine, row.machine, row.grouping.machine)) return false;
  if (batch != 0 && batch != row.batch) return false;
  return memory_limit == 0 || memory_limit == row.memory_limit;
}

std::string WhyNone(const RowSelector& where, const std::vector<const ResultRow*>& rows) {
  const auto none = [&](const RowSelector& of) {
    return std::none_of(rows.begin(), rows.end(), [&](const ResultRow* row) { return of.Matches(*row); });
  };
  const auto named = [&](const char* key, const std::string& wanted, std::string ResultRow::*name) {
    std::vector<std::string> names;
    for (const ResultRow* row : rows) AddOnce(names, row->*name);
    return fmt::format("no point has {} '{}'{} ({})", key, wanted, DidYouMean(wanted, names), fmt::join(names, ", "));
  };
  if (none({.network = where.network})) return named("network", where.network, &ResultRow::network);
  if (none({.machine = where.machine})) return named("machine", where.machine, &ResultRow::machine);
  if (none({.strategy = where.strategy})) return named("strategy", where.strategy, &ResultRow::strategy);
  if (none({.batch = where.batch})) return fmt::format("no point has batch {}", where.batch);
  if (none({.memory_limit = where.memory_limit})) {
    return fmt::format("no point has memory {}", FormatBytesExact(where.memory_limit));
  }
  return "no point has all of its network, machine, strategy, batch and memory";
}

std::vector<Verdict> Judge(const std::vector<ResultRow>& rows, const std::vector<Expectation>& expectations) {
  std::vector<Verdict> verdicts;
  if (expectations.empty()) return verdicts;
  const std::vector<Standing> standings = Standings(rows);
  const RowIndex index(rows);
  for (const Expectation& e : expectations) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (e.where.Matches(rows[i])) verdicts.push_back(JudgeRow(rows[i], standings[i].reference, index, e));
    }
  }
  return verdicts;
}

std::vector<std::span<const Verdict>> ByExpectation(const std::vector<Verdict>& verdicts) {
  std::vector<std::span<const Verdict>> groups;
  for (std::size_t begin = 0, end = 0; begin < verdicts.size(); begin = end) {
    while (end < verdicts.size() && verdicts[end].expectation == verdicts[begin].expectation) ++end;
    groups.push_back(std::span(verdicts).subspan(begin, end - begin));
  }
  return groups;
}

std::vector<double> DrawsOf(const Verdict& verdict) {
  const ResultRow& row = *verdict.row;
  const Measure measure = verdict.expectation->measure;
  const bool timed = measure == Measure::kSamplesPerSecond || measure == Measure::kStepTime;
  const bool against = verdict.compared != nullptr && verdict.compared->times.draws.size() == row.times.draws.size();
  if (!verdict.ours || (!timed && !against)) return {};
  std::vector<double> draws;
  for (std::size_t i = 0; i < row.times.draws.size(); ++i) {
    const double seconds = static_cast<double>(row.times.draws[i]) / static_cast<double>(kSecond);
    const double rate = static_cast<double>(row.batch) / seconds;
    if (measure == Measure::kStepTime) draws.push_back(seconds);
    if (measure == Measure::kSamplesPerSecond) draws.push_back(rate);
    if (!against) continue;
    const ResultRow& other = *verdict.compared;
    const double others =
        static_cast<double>(other.batch) * static_cast<double>(kSecond) / static_cast<double>(other.times.draws[i]);
    const double samples =
        static_cast<double>(row.grouping.sample_elements) / static_cast<double>(other.grouping.sample_elements);
    draws.push_back(measure == Measure::kRatio ? rate / others : 1 - rate * samples / others);
  }
  return draws;
}

std::set<const ResultRow*> ExpectedNotToRun(const std::vector<Verdict>& verdicts) {
  std::set<const ResultRow*> rows;
  for (const Verdict& v : verdicts) {
    const bool said = v.expectation->measure == Measure::kFeasible && v.expectation->value.high == 0;
    if (said && !v.row->feasible) rows.insert(v.row);
  }
  return rows;
}

}  // namespace spillway
