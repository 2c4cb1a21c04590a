#include "model/stats/least_squares.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "hw/text/units.h"

namespace spillway {
namespace {

using Loss = LeastSquaresOptions::Loss;

// Loss of a residual of z scales, and the weight with which it enters the squares: rho'(z) / z.
double Rho(double z, const LeastSquaresOptions& options) {
  const double width = options.width;
  if (options.loss == Loss::kStudentT) return 0.5 * (width + 1) * std::log1p(z * z / width);
  return 0.5 * z * z;
}
double Reweight(double z, const LeastSquaresOptions& options) {
  const double width = options.width;
  if (options.loss == Loss::kStudentT) return (width + 1) / (width + z * z);
  return 1;
}

// The state of one search: the point, its residuals, and the scale.
class Search {
 public:
  Search(const LeastSquaresProblem& problem, const LeastSquaresOptions& options);
  LeastSquaresResult Run();

 private:
  double WeightOf(std::size_t i) const { return problem_.weights.empty() ? 1.0 : problem_.weights[i]; }
  double Objective(std::span<const double> x, std::span<const double> residuals) const;
  void UpdateScale();
  void FillJacobian();
  std::vector<double> Difference(std::size_t variable);
  void Linearise();
  bool Blocked(int variable) const;  // at a bound and pushed outwards
  bool Solve(double damping, std::span<double> step) const;
  bool Step();  // one accepted or refused step; true = accepted
  void Curvature(LeastSquaresResult* result) const;

  const LeastSquaresProblem& problem_;
  const LeastSquaresOptions& options_;
  const int n_;
  std::vector<double> x_, residuals_, trial_, trial_residuals_;
  SparseRows jacobian_;
  SquareMatrix hessian_;  // lower triangle
  std::vector<double> gradient_;
  double scale_, objective_ = 0, damping_ = 1e-3, growth_ = 2, decrease_ = 0;
};

Search::Search(const LeastSquaresProblem& problem, const LeastSquaresOptions& options)
    : problem_(problem),
      options_(options),
      n_(static_cast<int>(problem.variables.size())),
      residuals_(Index(problem.residuals)),
      trial_(Index(n_)),
      trial_residuals_(Index(problem.residuals)),
      hessian_(n_),
      gradient_(Index(n_)),
      scale_(options.scale) {
  assert(problem.weights.empty() || problem.weights.size() == Index(problem.residuals));
  for (const LeastSquaresVariable& variable : problem.variables) {
    assert(variable.lower <= variable.start && variable.start <= variable.upper);
    x_.push_back(variable.start);
  }
}

double Search::Objective(std::span<const double> x, std::span<const double> residuals) const {
  double sum = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) sum += WeightOf(i) * Rho(residuals[i] / scale_, options_);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double z = (x[j] - problem_.variables[j].prior) / problem_.variables[j].prior_spread;
    sum += 0.5 * z * z;
  }
  return sum;
}

// One step of the EM iteration for the scale of a t distribution (Lange, Little and Taylor 1989); exact for squares.
void Search::UpdateScale() {
  if (std::isinf(options_.scale_weight)) return;
  const std::size_t rows = problem_.scale_residuals < 0 ? residuals_.size() : Index(problem_.scale_residuals);
  double sum = options_.scale_weight * options_.scale * options_.scale, weights = options_.scale_weight;
  for (std::size_t i = 0; i < rows; ++i) {
    const double r = residuals_[i];
    sum += WeightOf(i) * Reweight(r / scale_, options_) * r * r;
    weights += WeightOf(i);
  }
  if (weights > 0) scale_ = std::max(std::sqrt(sum / weights), 1e-9);
}

// Derivatives of all residuals.
std::vector<double> Search::Difference(std::size_t variable) {
  const LeastSquaresVariable& v = problem_.variables[variable];
  const double x = x_[variable], h = 1e-5 * std::max(1.0, std::abs(x));
  const double low = std::max(v.lower, x - h), high = std::min(v.upper, x + h);
  std::vector<double> derivative(residuals_.size());
  x_[variable] = high;
  problem_.evaluate(x_, derivative);
  x_[variable] = low;
  problem_.evaluate(x_, trial_residuals_);
  x_[variable] = x;
  for (std::size_t i = 0; i < derivative.size(); ++i) {
    derivative[i] = high > low ? (derivative[i] - trial_residuals_[i]) / (high - low) : 0.0;
  }
  return derivative;
}

void Search::FillJacobian() {
  jacobian_.Clear();
  if (problem_.jacobian) return problem_.jacobian(x_, &jacobian_);
  std::vector<std::vector<double>> columns;
  for (std::size_t v = 0; v < x_.size(); ++v) columns.push_back(Difference(v));
  for (std::size_t i = 0; i < residuals_.size(); ++i) {
    for (std::size_t v = 0; v < columns.size(); ++v) jacobian_.Add(static_cast<int>(v), columns[v][i]);
    jacobian_.EndRow();
  }
}

void Search::Linearise() {
  FillJacobian();
  assert(jacobian_.size() == residuals_.size());
  std::fill(hessian_.values.begin(), hessian_.values.end(), 0.0);
  for (std::size_t j = 0; j < Index(n_); ++j) {
    const LeastSquaresVariable& v = problem_.variables[j];
    const double precision = 1 / (v.prior_spread * v.prior_spread);
    hessian_.At(static_cast<int>(j), static_cast<int>(j)) = precision;
    gradient_[j] = precision * (x_[j] - v.prior);
  }
  for (std::size_t i = 0; i < residuals_.size(); ++i) {
    const double w = WeightOf(i) * Reweight(residuals_[i] / scale_, options_) / (scale_ * scale_);
    if (w == 0) continue;
    const auto row = jacobian_.Row(i);
    for (const auto& [a, da] : row) {
      gradient_[Index(a)] += w * da * residuals_[i];
      for (const auto& [b, db] : row) {
        if (b <= a) hessian_.At(a, b) += w * da * db;
      }
    }
  }
}

bool Search::Blocked(int variable) const {
  const LeastSquaresVariable& v = problem_.variables[Index(variable)];
  const double x = x_[Index(variable)], g = gradient_[Index(variable)];
  return v.lower == v.upper || (x <= v.lower && g > 0) || (x >= v.upper && g < 0);
}

bool Search::Solve(double damping, std::span<double> step) const {
  SquareMatrix damped = hessian_;
  for (int j = 0; j < n_; ++j) {
    step[Index(j)] = Blocked(j) ? 0.0 : -gradient_[Index(j)];
    damped.At(j, j) += damping * std::max(damped.At(j, j), 1e-9) + 1e-12;
    if (!Blocked(j)) continue;
    for (int k = 0; k < n_; ++k) damped.At(std::max(j, k), std::min(j, k)) = k == j ? 1.0 : 0.0;
  }
  if (!Factorise(&damped)) return false;
  SolveFactored(damped, step);
  return true;
}

bool Search::Step() {
  std::vector<double> step(Index(n_));
  double trial_objective = std::numeric_limits<double>::infinity(), expected = 0;
  if (Solve(damping_, step)) {
    for (std::size_t j = 0; j < step.size(); ++j) {
      const LeastSquaresVariable& v = problem_.variables[j];
      trial_[j] = std::clamp(x_[j] + step[j], v.lower, v.upper);
      const double d = trial_[j] - x_[j];
      expected += 0.5 * d * (damping_ * hessian_.At(static_cast<int>(j), static_cast<int>(j)) * d - gradient_[j]);
    }
    problem_.evaluate(trial_, trial_residuals_);
    trial_objective = Objective(trial_, trial_residuals_);
  }
  decrease_ = objective_ - trial_objective;
  if (!(decrease_ > 0)) {  // worse, or not a number
    damping_ = std::min(damping_ * growth_, 1e12);
    growth_ *= 2;
    return false;
  }
  const double gain = expected > 0 ? decrease_ / expected : 0;
  damping_ = std::max(damping_ * std::max(1.0 / 3, 1 - std::pow(2 * gain - 1, 3)), 1e-9);
  growth_ = 2;
  x_ = trial_;
  residuals_ = trial_residuals_;
  return true;
}

void Search::Curvature(LeastSquaresResult* result) const {
  result->precision = hessian_;
  for (int j = 0; j < n_; ++j) result->precision.At(j, j) += 1e-12;
  const bool definite = Factorise(&result->precision);
  assert(definite);  // sums of squares, and a little on the diagonal
  if (!definite) return;
  result->spread = InverseDiagonal(result->precision);
  for (double& s : result->spread) s = std::sqrt(s);
}

LeastSquaresResult Search::Run() {
  LeastSquaresResult result;
  problem_.evaluate(x_, residuals_);
  for (int k = 0; k < 5; ++k) UpdateScale();
  objective_ = Objective(x_, residuals_);
  Linearise();
  for (; result.steps < options_.max_steps && !result.converged; ++result.steps) {
    if (!Step()) {
      result.converged = growth_ > 1e5;  // nothing is gained however short the step
      continue;
    }
    result.converged = decrease_ < options_.tolerance * (1 + std::abs(objective_));
    UpdateScale();
    objective_ = Objective(x_, residuals_);
    Linearise();
  }
  result.x = x_;
  Curvature(&result);
  result.residuals = residuals_;
  result.scale = scale_;
  result.objective = objective_;
  return result;
}

}  // namespace

LeastSquaresResult SolveLeastSquares(const LeastSquaresProblem& problem, const LeastSquaresOptions& options) {
  return Search(problem, options).Run();
}

}  // namespace spillway
