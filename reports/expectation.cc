#include "reports/expectation.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "reports/result.h"

namespace spillway {

namespace {

bool SameOrAny(const std::string& wanted, const std::string& name, const std::string& base) {
  return wanted.empty() || wanted == name || wanted == base;
}

const ResultRow* FindOther(const std::vector<ResultRow>& rows, const ResultRow& row, const RowSelector& change) {
  RowSelector wanted{row.scenario, row.network, row.machine, row.strategy, row.batch, row.memory_limit};
  if (!change.network.empty()) wanted.network = change.network;
  if (!change.machine.empty()) wanted.machine = change.machine;
  if (!change.strategy.empty()) wanted.strategy = change.strategy;
  if (change.batch != 0) wanted.batch = change.batch;
  if (change.memory_limit != 0) wanted.memory_limit = change.memory_limit;
  for (const ResultRow& r : rows) {
    if (wanted.Matches(r)) return &r;
  }
  return nullptr;
}

std::optional<double> RatioOf(const std::vector<ResultRow>& rows, const ResultRow& row, const RowSelector& change) {
  const ResultRow* other = FindOther(rows, row, change);
  if (other == nullptr || !other->feasible) return std::nullopt;
  return row.SamplesPerSecond() / other->SamplesPerSecond();
}

// What does not run has throughput 0: a bound on a ratio then holds or fails without a figure, and it holds when neither
// of the two runs.
bool BoundHoldsWithoutFigure(const std::vector<ResultRow>& rows, const ResultRow& row, const Expectation& e) {
  if (e.measure != Measure::kRatio) return false;
  const ResultRow* other = FindOther(rows, row, e.other);
  if (other == nullptr) return false;
  const bool holds_at_zero = std::isinf(e.value.low) || e.value.low <= 0;
  const bool holds_at_infinity = std::isinf(e.value.high);
  return row.feasible ? holds_at_infinity : !other->feasible || holds_at_zero;
}

std::optional<double> LossOf(const std::vector<ResultRow>& rows, const ResultRow& row) {
  const ResultRow* reference = InCoreReference(rows, row);
  if (reference == nullptr) return std::nullopt;
  return LossAgainst(*reference, row);
}

std::optional<double> Measured(const std::vector<ResultRow>& rows, const ResultRow& row, const Expectation& e) {
  if (e.measure == Measure::kFeasible) return row.feasible ? 1 : 0;
  if (!row.feasible) return std::nullopt;
  switch (e.measure) {
    case Measure::kSamplesPerSecond:
      return row.SamplesPerSecond();
    case Measure::kStepTime:
      return static_cast<double>(row.step_time) / static_cast<double>(kSecond);
    case Measure::kLoss:
      return LossOf(rows, row);
    case Measure::kKeep:
      return row.classes.keep;
    case Measure::kSwap:
      return row.classes.swap;
    case Measure::kRecompute:
      return row.classes.recompute;
    case Measure::kRatio:
      return RatioOf(rows, row, e.other);
    case Measure::kFeasible:
      break;
  }
  return std::nullopt;
}

// Losses are fractions near zero: their differences are given in points, not relative to the loss itself.
double DifferenceFrom(Measure measure, const ValueRange& range, double ours) {
  if (ours >= range.low && ours <= range.high) return 0;
  const double end = ours < range.low ? range.low : range.high;
  if (measure == Measure::kLoss || measure == Measure::kFeasible) return ours - end;
  return end == 0 ? ours : ours / end - 1;
}

Verdict JudgeRow(const std::vector<ResultRow>& rows, const ResultRow& row, const Expectation& e) {
  Verdict verdict;
  verdict.expectation = &e;
  verdict.row = &row;
  verdict.ours = Measured(rows, row, e);
  verdict.gate = e.within.has_value() || e.required;
  if (verdict.ours) verdict.difference = DifferenceFrom(e.measure, e.value, *verdict.ours);
  if (verdict.gate) {
    // A tolerance of 1e-9 keeps "at least 1" from failing on the last bit of a quotient.
    verdict.passed = verdict.ours ? std::abs(verdict.difference) <= e.within.value_or(0) + 1e-9
                                  : BoundHoldsWithoutFigure(rows, row, e);
  }
  return verdict;
}

}  // namespace

bool RowSelector::Matches(const ResultRow& row) const {
  if (!SameOrAny(scenario, row.scenario, row.scenario) || !SameOrAny(strategy, row.strategy, row.strategy))
    return false;
  if (!SameOrAny(network, row.network, row.network_base)) return false;
  if (!SameOrAny(machine, row.machine, row.machine_base)) return false;
  if (batch != 0 && batch != row.batch) return false;
  return memory_limit == 0 || memory_limit == row.memory_limit;
}

const char* MeasureName(Measure measure) {
  static constexpr std::array kNames = {"samples_per_second", "step_time", "loss",    "keep", "swap",
                                        "recompute",          "ratio",     "feasible"};
  return kNames.at(static_cast<std::size_t>(measure));
}

std::vector<Verdict> Judge(const std::vector<ResultRow>& rows, const std::vector<Expectation>& expectations) {
  std::vector<Verdict> verdicts;
  for (const Expectation& e : expectations) {
    for (const ResultRow& row : rows) {
      if (e.where.Matches(row)) verdicts.push_back(JudgeRow(rows, row, e));
    }
  }
  return verdicts;
}

bool ExpectedNotToRun(const std::vector<Verdict>& verdicts, const ResultRow& row) {
  return !row.feasible && std::any_of(verdicts.begin(), verdicts.end(), [&row](const Verdict& v) {
    return v.row == &row && v.expectation->measure == Measure::kFeasible && v.expectation->value.high == 0;
  });
}

}  // namespace spillway
