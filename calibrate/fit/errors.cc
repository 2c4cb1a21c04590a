#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/fit/validate.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr double kLeastOwn = 0.003;  // no harness repeats a time better
// Beyond what all kernels of a machine share (Device::stack_error), models of the same stack differ by about this.
constexpr double kUsualShared = 0.05;
// What the prior counts: samples for the own error, stacks for the shared one.
constexpr double kPriorSamples = 4, kPriorStacks = 2;
// Samples that a source's voice does not grow beyond.
constexpr double kMostVoice = 30;

struct Stack {
  double weight = 0, squares = 0, sum = 0;  // of weights, of their squares, of weighted residuals
  double Mean() const { return sum / weight; }
  double Size() const { return weight * weight / squares; }  // as so many samples of equal weight
};

// By source: what its samples' weights are multiplied by.
std::map<int, double> VoicesOf(std::span<const ErrorSample> samples) {
  std::map<int, Stack> sources;
  for (const ErrorSample& s : samples) {
    sources[s.source].weight += s.weight;
    sources[s.source].squares += s.weight * s.weight;
  }
  std::map<int, double> voices;
  for (const auto& [source, sum] : sources) voices[source] = std::min(sum.Size(), kMostVoice) / sum.weight;
  return voices;
}

// `unseen`: as predicted without the offsets.
std::map<int, Stack> StacksOf(std::span<const ErrorSample> samples, bool unseen) {
  std::map<int, Stack> stacks;
  for (const ErrorSample& s : samples) {
    Stack& stack = stacks[s.stack];
    stack.weight += s.weight;
    stack.squares += s.weight * s.weight;
    stack.sum += s.weight * (s.residual + (unseen ? s.offset : 0));
  }
  return stacks;
}

double VarianceWithin(std::span<const ErrorSample> samples, const std::map<int, Stack>& stacks) {
  double sum = 0, freedom = 0;
  for (const ErrorSample& s : samples) sum += s.weight * std::pow(s.residual - stacks.at(s.stack).Mean(), 2);
  for (const auto& [number, stack] : stacks) freedom += stack.weight * (1 - 1 / stack.Size());
  return freedom > 0 ? sum / freedom : 0;
}

// The mean square of a stack's mean is the variance between plus its own share of that within. Stacks count alike,
// however many samples each has, but for those whose mean is noisy.
double VarianceBetween(const std::map<int, Stack>& stacks, double within) {
  double sum = 0, weights = 0;
  for (const auto& [number, stack] : stacks) {
    const double noise = within / stack.Size();
    const double weight = 1 / (kUsualShared * kUsualShared + noise);
    sum += weight * (stack.Mean() * stack.Mean() - noise);
    weights += weight;
  }
  return std::max(0.0, sum / weights);
}

double Shrunk(double value, double count, double prior, double prior_count) {
  return std::sqrt((count * value * value + prior_count * prior * prior) / (count + prior_count));
}

}  // namespace

ModelError EstimateError(std::span<const ErrorSample> samples, const ModelError& prior) {
  if (samples.empty()) return prior;
  const std::map<int, Stack> stacks = StacksOf(samples, false);
  const double within = VarianceWithin(samples, stacks), between = VarianceBetween(stacks, within);
  std::vector<std::pair<double, double>> own;
  double size = 0;
  for (const auto& [number, stack] : stacks) size += stack.Size();
  const std::map<int, double> voices = VoicesOf(samples);
  for (const ErrorSample& s : samples) {
    const Stack& stack = stacks.at(s.stack);
    const double noise = within / stack.Size();
    const double shared = between + noise > 0 ? stack.Mean() * between / (between + noise) : 0;
    own.emplace_back(std::abs(s.residual - shared), s.weight * voices.at(s.source));
  }
  const double spread = std::max(WeightedQuantile(std::move(own), 0.8) / kNormal80, kLeastOwn);
  const double unseen = VarianceBetween(StacksOf(samples, true), within);
  return {Shrunk(std::sqrt(unseen), static_cast<double>(stacks.size()), kUsualShared, kPriorStacks),
          Shrunk(spread, size, prior.own, kPriorSamples)};
}

}  // namespace spillway
