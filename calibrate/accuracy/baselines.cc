#include "calibrate/accuracy/baselines.h"

#include <algorithm>
#include <cmath>

#include "calibrate/accuracy/baselines_trees.h"
#include "calibrate/fit/least_squares.h"

namespace spillway {
namespace {

const FitRow& RowAt(const FitGroup& group, int r) { return group.rows[static_cast<std::size_t>(r)]; }

// A law of a few positive parameters, given as logarithms: nanoseconds of a row.
using Law = double (*)(const FitRow& row, std::span<const double> logs);

double Line(const FitRow& row, std::span<const double> logs) {
  const Work work = CountWork(row.launch);
  return std::exp(logs[0]) + std::max(work.flops, work.bytes) / (row.chip.peak_flops * std::exp(logs[1]));
}

double Roofline(const FitRow& row, std::span<const double> logs) {
  const Work work = CountWork(row.launch);
  return std::exp(logs[0]) + std::max(work.flops / (row.chip.peak_flops * std::exp(logs[1])),
                                      work.bytes / (row.chip.memory_bandwidth * std::exp(logs[2])));
}

std::vector<double> PredictLaw(Law law, std::size_t parameters, const FitGroup& group, const Split& split) {
  LeastSquaresProblem problem;
  problem.variables.push_back({std::log(1e4), std::log(1.0), std::log(1e9)});
  while (problem.variables.size() < parameters)
    problem.variables.push_back({std::log(0.5), std::log(1e-4), std::log(1e3)});
  problem.residuals = static_cast<int>(split.train.size());
  problem.evaluate = [&](std::span<const double> x, int first, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const FitRow& row = RowAt(group, split.train[static_cast<std::size_t>(first) + i]);
      out[i] = row.log_time - std::log(law(row, x));
    }
  };
  const LeastSquaresResult fit = SolveLeastSquares(problem);
  std::vector<double> predictions;
  for (const int r : split.test) predictions.push_back(std::log(law(RowAt(group, r), fit.x)));
  return predictions;
}

double Log(double value) { return std::log(std::max(value, 1e-3)); }

// What a regression without knowledge of kernels can be told of a row: the shape, the work, the product that a
// convolution or a linear layer is, and what else our own fit knows (algorithm where given, harness and place in
// it, software stack).
std::vector<double> Features(const FitRow& row) {
  const OpShape& s = row.launch.shape;
  const Work work = CountWork(row.launch);
  const auto d = [](std::int64_t v) { return static_cast<double>(v); };
  const double window = d(s.window[0] * s.window[1] * s.window[2]);
  const double pixels = d(s.out.n * s.out.Spatial());
  return {Log(d(s.in.n)),
          Log(d(s.in.c)),
          Log(d(s.in.h)),
          Log(d(s.in.w)),
          Log(d(s.out.c)),
          d(s.window[1]),
          d(s.window[2]),
          d(s.stride[1]),
          Log(pixels),
          Log(d(s.in.c) * window),
          Log(work.flops),
          Log(work.bytes),
          Log(work.flops) - Log(work.bytes),
          Log(std::min({d(s.out.c), pixels, d(s.in.c) * window})),
          Log(row.chip.peak_flops),
          Log(row.chip.memory_bandwidth),
          d(s.operands),
          row.known >= 0 && !row.chosen ? row.known : -1.0,
          d(row.harness),
          d(row.stack),
          row.order,
          d(static_cast<int>(row.launch.type)),
          d(row.launch.accumulate)};
}

std::vector<double> PredictTrees(const FitGroup& group, const Split& split) {
  std::vector<std::vector<double>> features;
  std::vector<double> targets, predictions;
  for (const int r : split.train) {
    features.push_back(Features(RowAt(group, r)));
    targets.push_back(RowAt(group, r).log_time);
  }
  const BoostedTrees trees(features, targets);
  for (const int r : split.test) predictions.push_back(trees.Predict(Features(RowAt(group, r))));
  return predictions;
}

}  // namespace

const char* BaselineName(Baseline baseline) {
  constexpr std::array<const char*, 3> kNames = {"line", "roofline", "trees"};
  return kNames[static_cast<std::size_t>(baseline)];
}

std::vector<double> PredictBaseline(Baseline baseline, const FitGroup& group, const Split& split) {
  switch (baseline) {
    case Baseline::kLine:
      return PredictLaw(Line, 2, group, split);
    case Baseline::kRoofline:
      return PredictLaw(Roofline, 3, group, split);
    case Baseline::kTrees:
      break;
  }
  return PredictTrees(group, split);
}

}  // namespace spillway
