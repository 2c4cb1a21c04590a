#include "calibrate/fit/residuals.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hw/text/units.h"

namespace spillway {
namespace {

constexpr double kShortest = 1e-3;  // nanoseconds: a law that gives less is broken, not fast
constexpr double kSoftness = 0.05;  // algorithms this close (relative) share the derivative of the minimum
constexpr double kNegligibleShare = 0.02;
constexpr double kOneSidedWeight = 0.5;

}  // namespace

double LawLog(const FitGroup& group, const FitRow& row, const StackRate& rate, int candidate,
              std::span<const double> parameters) {
  const Candidate& c = group.candidates[Index(candidate)];
  const double time = SpecialFactor(row.launch, rate) * c.form->time(LaunchFor(row.launch, c), WithRate(row.chip, rate),
                                                                     parameters.first(c.form->parameters.size()));
  return std::log(std::max(time, kShortest));
}

GroupResiduals::GroupResiduals(const FitGroup& group, const FitLayout& layout, std::span<const int> rows)
    : group_(group), layout_(layout), parameters_(group.candidates.size()), rates_(group.stacks.size()) {
  for (std::size_t c = 0; c < parameters_.size(); ++c)
    parameters_[c].resize(group.candidates[c].form->parameters.size());
  for (const int r : rows) {
    const FitRow& row = group.rows[Index(r)];
    const int position = static_cast<int>(rows_.size());
    rows_.push_back(&row);
    if (!row.chosen) continue;
    for (const int c : row.runnable) {
      if (c != row.known) one_sided_.push_back({position, c});
    }
  }
}

std::vector<double> GroupResiduals::Weights() const {
  std::vector<double> weights;
  for (const FitRow* row : rows_) weights.push_back(row->weight);
  for (const Other& other : one_sided_) weights.push_back(kOneSidedWeight * rows_[Index(other.row)]->weight);
  return weights;
}

void GroupResiduals::UnpackAll(std::span<const double> x) const {
  for (std::size_t c = 0; c < parameters_.size(); ++c) layout_.Unpack(x, static_cast<int>(c), parameters_[c]);
  for (std::size_t s = 0; s < rates_.size(); ++s) rates_[s] = layout_.Rate(x, static_cast<int>(s));
}

double GroupResiduals::Law(const FitRow& row, int candidate) const {
  return LawLog(group_, row, rates_[Index(row.stack)], candidate, parameters_[Index(candidate)]);
}

double GroupResiduals::FastestLaw(const FitRow& row) const {
  double fastest = std::numeric_limits<double>::infinity();
  for (const int c : row.runnable) fastest = std::min(fastest, Law(row, c));
  return fastest;
}

void GroupResiduals::Evaluate(std::span<const double> x, std::span<double> out) const {
  UnpackAll(x);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const FitRow& row = *rows_[i];
    const double law = row.known >= 0 ? Law(row, row.known) : FastestLaw(row);
    out[i] = row.log_time - Observe(law, layout_.Curve(x, row.harness).At(row.order)).log_time;
  }
  for (std::size_t i = 0; i < one_sided_.size(); ++i) {
    const FitRow& row = *rows_[Index(one_sided_[i].row)];
    const double seen =
        Observe(Law(row, one_sided_[i].candidate), layout_.Curve(x, row.harness).At(row.order)).log_time;
    out[rows_.size() + i] = std::max(0.0, row.log_time - seen);
  }
}

// Derivative of -log observed with respect to a candidate's parameters and the stack's rates: minus `factor` times that
// of its law.
void GroupResiduals::AddLaw(std::span<const double> x, const FitRow& row, int candidate, double factor,
                            SparseRows* rows) const {
  std::vector<double>& parameters = parameters_[Index(candidate)];
  const double law = Law(row, candidate);
  AddStack(row, candidate, law, factor, rows);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const int variable = layout_.First(candidate) + static_cast<int>(p);
    const double upper = layout_.variables()[Index(variable)].upper;
    const double step = x[Index(variable)] + kLawStep <= upper ? kLawStep : -kLawStep;
    const double before = parameters[p];
    parameters[p] = before * std::exp(step);
    const double derivative = (Law(row, candidate) - law) / step;
    parameters[p] = before;
    if (derivative != 0) rows->Add(variable, -factor * derivative);
  }
}

void GroupResiduals::AddStack(const FitRow& row, int candidate, double law, double factor, SparseRows* rows) const {
  const int first = layout_.Stack(row.stack);
  if (first < 0) return;
  StackRate& rate = rates_[Index(row.stack)];
  double* const variables[kStackVariables] = {&rate.arithmetic, &rate.memory, &rate.special};
  for (int v = 0; v < kStackVariables; ++v) {
    const double before = *variables[v];
    *variables[v] += kLawStep;
    const double derivative = (Law(row, candidate) - law) / kLawStep;
    *variables[v] = before;
    if (derivative != 0) rows->Add(first + v, -factor * derivative);
  }
}

void GroupResiduals::AddHarness(std::span<const double> x, const FitRow& row, const Observed& seen,
                                SparseRows* rows) const {
  if (row.harness < 0) return;
  const int first = layout_.Harness(row.harness);
  const HarnessCurve curve = layout_.Curve(x, row.harness);
  const HarnessTime now = curve.At(row.order);
  const double part = row.order > 0 ? std::pow(row.order, curve.power) : 0;
  const double bend = row.order > 0 ? curve.power * std::log(row.order) * part : 0;
  rows->Add(first, -seen.added);
  rows->Add(first + 1, -seen.added * curve.last.added * part / now.added);
  rows->Add(first + 2, -seen.hidden);
  rows->Add(first + 3, -seen.hidden * curve.last.hidden * row.order / now.hidden);
  rows->Add(first + 4, -seen.added * (curve.last.added - curve.first.added) * bend / now.added);
}

void GroupResiduals::MainRow(std::span<const double> x, const FitRow& row, SparseRows* rows) const {
  const HarnessTime floor = layout_.Curve(x, row.harness).At(row.order);
  if (row.known >= 0) {
    const Observed seen = Observe(Law(row, row.known), floor);
    AddLaw(x, row, row.known, seen.kernel, rows);
    return AddHarness(x, row, seen, rows);
  }
  const double fastest = FastestLaw(row);
  const Observed seen = Observe(fastest, floor);
  double sum = 0;
  for (const int c : row.runnable) sum += std::exp((fastest - Law(row, c)) / kSoftness);
  for (const int c : row.runnable) {
    const double share = std::exp((fastest - Law(row, c)) / kSoftness) / sum;
    if (share > kNegligibleShare) AddLaw(x, row, c, share * seen.kernel, rows);
  }
  AddHarness(x, row, seen, rows);
}

void GroupResiduals::Jacobian(std::span<const double> x, SparseRows* rows) const {
  UnpackAll(x);
  for (const FitRow* row : rows_) {
    MainRow(x, *row, rows);
    rows->EndRow();
  }
  for (const Other& other : one_sided_) {
    const FitRow& row = *rows_[Index(other.row)];
    const Observed seen = Observe(Law(row, other.candidate), layout_.Curve(x, row.harness).At(row.order));
    if (seen.log_time < row.log_time) {
      AddLaw(x, row, other.candidate, seen.kernel, rows);
      AddHarness(x, row, seen, rows);
    }
    rows->EndRow();
  }
}

}  // namespace spillway
