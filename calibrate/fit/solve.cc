#include "calibrate/fit/solve.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/fit/residuals.h"
#include "hw/text/lists.h"
#include "hw/text/units.h"
#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr std::size_t kRowsToJudge = 60;  // that a candidate's uncertainty is taken from

GroupFit ToFit(const FitGroup& group, const FitLayout& layout, const LeastSquaresResult& result) {
  GroupFit fit;
  for (std::size_t c = 0; c < group.candidates.size(); ++c) {
    fit.parameters.emplace_back(group.candidates[c].form->parameters.size());
    layout.Unpack(result.x, static_cast<int>(c), fit.parameters.back());
  }
  for (std::size_t h = 0; h < group.harnesses.size(); ++h) {
    fit.harnesses.push_back(layout.Curve(result.x, static_cast<int>(h)));
  }
  for (std::size_t s = 0; s < group.stacks.size(); ++s)
    fit.stacks.push_back(layout.Rate(result.x, static_cast<int>(s)));
  fit.scale = result.scale;
  fit.converged = result.converged;
  fit.precision = result.precision;
  return fit;
}

// Derivatives of the logarithm of the law with respect to the candidate's variables.
std::vector<double> Sensitivities(const FitGroup& group, const GroupFit& fit, const FitRow& row, int candidate) {
  std::vector<double> parameters = fit.parameters[Index(candidate)], slopes(parameters.size());
  const double law = LawLog(group, row, {}, candidate, parameters);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const double before = parameters[p];
    parameters[p] = before * std::exp(kLawStep);
    slopes[p] = (LawLog(group, row, {}, candidate, parameters) - law) / kLawStep;
    parameters[p] = before;
  }
  return slopes;
}

// Variance of slopes . variables, the slopes being those of variables first, first + 1, ...
double VarianceAlong(const SquareMatrix& precision, int first, std::span<const double> slopes) {
  std::vector<double> full(Index(precision.n), 0.0);
  std::copy(slopes.begin(), slopes.end(), full.begin() + first);
  std::vector<double> solved = full;
  SolveFactored(precision, solved);
  return std::inner_product(full.begin(), full.end(), solved.begin(), 0.0);
}

}  // namespace

GroupFit SolveGroup(const FitGroup& group, std::span<const int> rows) {
  const FitLayout layout(group);
  const GroupResiduals residuals(group, layout, rows);
  LeastSquaresProblem problem;
  problem.variables = layout.variables();
  problem.residuals = residuals.size();
  problem.scale_residuals = residuals.main_rows();
  problem.weights = residuals.Weights();
  problem.evaluate = [&](std::span<const double> x, std::span<double> out) { residuals.Evaluate(x, out); };
  problem.jacobian = [&](std::span<const double> x, SparseRows* rows_out) { residuals.Jacobian(x, rows_out); };
  LeastSquaresOptions options;
  options.scale_weight = 5;
  options.tolerance = 5e-5;
  options.max_steps = 100;
  return ToFit(group, layout, SolveLeastSquares(problem, options));
}

double LogTime(const FitGroup& group, const GroupFit& fit, const FitRow& row, int candidate) {
  return LawLog(group, row, fit.stacks[Index(row.stack)], candidate, fit.parameters[Index(candidate)]);
}

Prediction Fastest(const FitGroup& group, const GroupFit& fit, const FitRow& row) {
  Prediction best;
  for (const int c : row.runnable) {
    const double time = LogTime(group, fit, row, c);
    if (best.candidate < 0 || time < best.log_time) best = {time, c};
  }
  return best;
}

double ObservedLog(const GroupFit& fit, const FitRow& row, double log_time) {
  if (row.harness < 0) return log_time;
  return Observe(log_time, fit.harnesses[Index(row.harness)].At(row.order)).log_time;
}

Learnt LearntOf(const FitGroup& group, const GroupFit& fit, int candidate) {
  const FitLayout layout(group);
  const int first = layout.First(candidate);
  std::vector<double> after, before;
  const std::size_t stride = group.rows.size() / kRowsToJudge + 1;
  for (std::size_t r = 0; r < group.rows.size(); r += stride) {
    const FitRow& row = group.rows[r];
    if (!Contains(row.runnable, candidate)) continue;
    const std::vector<double> slopes = Sensitivities(group, fit, row, candidate);
    double prior = 0;
    for (std::size_t p = 0; p < slopes.size(); ++p) {
      prior += std::pow(slopes[p] * layout.variables()[Index(first) + p].prior_spread, 2);
    }
    before.push_back(prior);
    after.push_back(VarianceAlong(fit.precision, first, slopes));
  }
  if (after.empty()) return {0, 0};
  return {NearestRank(after, 0.5), NearestRank(before, 0.5)};  // variances: of an even number the upper one
}

}  // namespace spillway
