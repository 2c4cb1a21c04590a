// Robust nonlinear least squares with priors: the most probable variables given residuals that should be near zero.
//
// Minimised is   sum_i w_i rho(r_i(x) / s)  +  1/2 sum_j ((x_j - prior_j) / spread_j)^2   within bounds on x,
// rho being that of Student's t or plain squares, and s the scale of the residuals, found along with x unless
// given. Levenberg-Marquardt steps on the reweighted squares (Marquardt 1963; Nielsen's damping, IMM-REP-1999-05);
// a variable at a bound that the gradient pushes outwards is left out of the step, and steps end at the bounds.
// Sizes in mind: up to some 150 variables and 20,000 residuals. Deterministic: same input, same bits.
#ifndef SPILLWAY_MODEL_STATS_LEAST_SQUARES_H_
#define SPILLWAY_MODEL_STATS_LEAST_SQUARES_H_

#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace spillway {

// ---- Dense symmetric positive definite systems, small (some hundred unknowns).

// Square matrix, rows one after the other. Only the lower triangle is read by what follows.
struct SquareMatrix {
  explicit SquareMatrix(int size) : n(size), values(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}
  double& At(int row, int column) { return values[Index(row, column)]; }
  double At(int row, int column) const { return values[Index(row, column)]; }
  std::size_t Index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + static_cast<std::size_t>(column);
  }
  int n = 0;
  std::vector<double> values;
};

// Replaces the lower triangle of `matrix` by its Cholesky factor L, matrix = L L'. False: not positive definite (the
// matrix is then spoilt).
bool Factorise(SquareMatrix* matrix);
// Solves L L' x = b in place, L from Factorise.
void SolveFactored(const SquareMatrix& factor, std::span<double> b);
// Diagonal of the inverse of L L'.
std::vector<double> InverseDiagonal(const SquareMatrix& factor);

struct LeastSquaresVariable {
  double start = 0;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  double prior = 0;
  double prior_spread = std::numeric_limits<double>::infinity();  // standard deviation; infinite = no prior
};

// A Jacobian by rows; what is not added is zero.
class SparseRows {
 public:
  void Clear() { ends_.clear(), entries_.clear(); }
  void Add(int column, double value) { entries_.emplace_back(column, value); }  // to the row being written
  void EndRow() { ends_.push_back(entries_.size()); }
  std::size_t size() const { return ends_.size(); }
  std::span<const std::pair<int, double>> Row(std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::span(entries_).subspan(begin, ends_[row] - begin);
  }

 private:
  std::vector<std::size_t> ends_;
  std::vector<std::pair<int, double>> entries_;
};

struct LeastSquaresProblem {
  std::vector<LeastSquaresVariable> variables;
  int residuals = 0;
  // Fills `out` with all residuals.
  std::function<void(std::span<const double> x, std::span<double> out)> evaluate;
  // Fills one row per residual. Empty: central differences.
  std::function<void(std::span<const double> x, SparseRows* rows)> jacobian;
  std::vector<double> weights;  // >= 0; empty = all 1
  // The scale is found from the first so many residuals (one-sided ones, zero when satisfied, tell nothing of it);
  // negative = all.
  int scale_residuals = -1;
};

struct LeastSquaresOptions {
  enum class Loss { kSquares, kStudentT };
  Loss loss = Loss::kStudentT;
  double width = 4;  // Student-t: degrees of freedom
  // The scale s: `scale` counts like `scale_weight` residuals of that size; infinite = fixed at it.
  double scale = 0.2, scale_weight = 1;
  int max_steps = 60;
  double tolerance = 1e-6;  // relative decrease of the objective that is worth another step
};

struct LeastSquaresResult {
  std::vector<double> x;
  std::vector<double> spread;  // standard deviation of each variable after the data: the curvature at the optimum
  SquareMatrix precision{0};   // Cholesky factor of that curvature: the inverse of the variables' covariance
  std::vector<double> residuals;
  double scale = 0;
  double objective = 0;  // the sum above
  int steps = 0;         // accepted and refused ones
  bool converged = false;
};

// REQUIRES: start values within bounds; evaluate finite there. A trial point with a residual that is not finite is
// refused, not an error.
LeastSquaresResult SolveLeastSquares(const LeastSquaresProblem& problem, const LeastSquaresOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STATS_LEAST_SQUARES_H_
