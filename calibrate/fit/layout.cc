#include "calibrate/fit/layout.h"

#include <array>
#include <cmath>

namespace spillway {
namespace {

// The longer of kernel and hidden time counts, with a rounded corner: both vary from call to call.
constexpr double kSharpness = 6;
// Priors of a harness' variables: an event or call costs microseconds. So does all that a harness hides of a kernel
// unless its samples say otherwise: no kernel starts sooner after another than a launch takes, 5 us. A framework takes
// ten times that, and its many short samples show it; of a harness whose shortest sample is longer nothing is known,
// and the least that there can be makes the products that nobody sampled no slower than they are.
struct HarnessPrior {
  double log_value, spread, lower, upper;
};
const std::array<HarnessPrior, kHarnessVariables> kHarnessPriors = {{
    {std::log(4e3), 1.0, std::log(100.0), std::log(1e7)},
    {0, 0.5, -4, 4},
    {std::log(5e3), 1.5, std::log(100.0), std::log(1e7)},
    {0, 0.5, -4, 4},
    {0, 0.3, -1, 1},
}};

// Forms are fractions of the fp32 peak. Other arithmetic may be that much faster (tensor cores of Volta: 125 to 15.7
// TFLOP/s, NVIDIA V100 data sheet), so rates may lie further from their priors.
constexpr double kOtherMathFactor = 8, kOtherMathSpread = 1.5;

// Logarithm of the most that two stacks may differ by.
constexpr double kMostRate = 3;

LeastSquaresVariable VariableOf(const FormParameter& parameter, double prior, MathMode math) {
  LeastSquaresVariable v;
  v.start = v.prior = std::log(prior);
  v.lower = std::log(parameter.lower);
  v.upper = std::log(parameter.upper);
  v.prior_spread = parameter.prior_spread;
  if (math != MathMode::kFp32) {
    v.lower -= std::log(kOtherMathFactor);
    v.upper += std::log(kOtherMathFactor);
    v.prior_spread = kOtherMathSpread;
  }
  return v;
}

}  // namespace

FitLayout::FitLayout(const FitGroup& group) {
  for (const Candidate& candidate : group.candidates) {
    first_.push_back(static_cast<int>(variables_.size()));
    for (std::size_t p = 0; p < candidate.form->parameters.size(); ++p) {
      variables_.push_back(VariableOf(candidate.form->parameters[p], candidate.prior[p], group.math));
    }
  }
  harnesses_ = static_cast<int>(variables_.size());
  for (std::size_t h = 0; h < group.harnesses.size(); ++h) {
    for (const HarnessPrior& p : kHarnessPriors) {
      variables_.push_back({p.log_value, p.lower, p.upper, p.log_value, p.spread});
    }
  }
  for (std::size_t s = 0; s < group.stacks.size(); ++s) {
    const bool reference = static_cast<int>(s) == group.reference;
    stacks_.push_back(reference ? -1 : static_cast<int>(variables_.size()));
    if (reference) continue;
    const StackRate spread = StackSpread(group.kind, group.math);
    for (const double deviation : {spread.arithmetic, spread.memory, spread.special}) {
      variables_.push_back({0, -kMostRate, kMostRate, 0, deviation});
    }
  }
}

void FitLayout::Unpack(std::span<const double> x, int candidate, std::span<double> parameters) const {
  const auto first = static_cast<std::size_t>(First(candidate));
  for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p] = std::exp(x[first + p]);
}

HarnessCurve FitLayout::Curve(std::span<const double> x, int harness) const {
  if (harness < 0) return {};
  const auto h = x.subspan(static_cast<std::size_t>(Harness(harness)), kHarnessVariables);
  return {{std::exp(h[0]), std::exp(h[2])}, {std::exp(h[0] + h[1]), std::exp(h[2] + h[3])}, std::exp(h[4])};
}

StackRate FitLayout::Rate(std::span<const double> x, int stack) const {
  const int first = Stack(stack);
  if (first < 0) return {};
  const auto rate = x.subspan(static_cast<std::size_t>(first), kStackVariables);
  return {rate[0], rate[1], rate[2]};
}

HarnessTime HarnessCurve::At(double order) const {
  const double part = order > 0 ? std::pow(order, power) : 0;
  return {first.added + part * (last.added - first.added), first.hidden + order * (last.hidden - first.hidden)};
}

Observed Observe(double log_kernel, const HarnessTime& harness) {
  if (harness.added <= 0 && harness.hidden <= 0) return {log_kernel, 1, 0, 0};
  const double kernel = std::exp(log_kernel);
  const double beyond = harness.hidden > 0 ? kSharpness * (log_kernel - std::log(harness.hidden)) : 100;
  const double share = 1 / (1 + std::exp(-beyond));
  const double longer = beyond > 40 ? kernel : harness.hidden * std::exp(std::log1p(std::exp(beyond)) / kSharpness);
  const double total = harness.added + longer;
  return {std::log(total), share * longer / total, harness.added / total, (1 - share) * longer / total};
}

}  // namespace spillway
