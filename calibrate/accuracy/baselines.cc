#include <algorithm>
#include <cmath>

#include "calibrate/accuracy/cells.h"
#include "model/stats/least_squares.h"
#include "model/step/launch.h"

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
  problem.evaluate = [&](std::span<const double> x, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const FitRow& row = RowAt(group, split.train[i]);
      out[i] = row.log_time - std::log(law(row, x));
    }
  };
  const LeastSquaresResult fit = SolveLeastSquares(problem);
  std::vector<double> predictions;
  for (const int r : split.test) predictions.push_back(std::log(law(RowAt(group, r), fit.x)));
  return predictions;
}

}  // namespace

const char* BaselineName(Baseline baseline) {
  constexpr std::array<const char*, 2> kNames = {"line", "roofline"};
  return kNames[static_cast<std::size_t>(baseline)];
}

std::vector<double> PredictBaseline(Baseline baseline, const FitGroup& group, const Split& split) {
  return baseline == Baseline::kLine ? PredictLaw(Line, 2, group, split) : PredictLaw(Roofline, 3, group, split);
}

}  // namespace spillway
