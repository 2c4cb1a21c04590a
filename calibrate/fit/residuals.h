// Residuals of a group's rows and their derivatives: fit/solve.h says what they are.
#ifndef SPILLWAY_CALIBRATE_FIT_RESIDUALS_H_
#define SPILLWAY_CALIBRATE_FIT_RESIDUALS_H_

#include <span>
#include <vector>

#include "calibrate/fit/layout.h"
#include "model/stats/least_squares.h"

namespace spillway {

// Logarithm of the nanoseconds that a candidate's law gives a row on a stack of that rate.
double LawLog(const FitGroup& group, const FitRow& row, const StackRate& rate, int candidate,
              std::span<const double> parameters);
// Step of a variable for derivatives of laws.
constexpr double kLawStep = 1e-5;

// The main residual of every row in order, then the one-sided ones. Refers to group and layout; not for several
// threads at once.
class GroupResiduals {
 public:
  GroupResiduals(const FitGroup& group, const FitLayout& layout, std::span<const int> rows);
  int size() const { return static_cast<int>(rows_.size() + one_sided_.size()); }
  int main_rows() const { return static_cast<int>(rows_.size()); }
  // By residual. `x` in what follows: all variables as FitLayout packs them. `out` takes size() values, `rows` gets
  // as many rows of derivatives by those variables.
  std::vector<double> Weights() const;
  void Evaluate(std::span<const double> x, std::span<double> out) const;
  void Jacobian(std::span<const double> x, SparseRows* rows) const;

 private:
  struct Other {  // candidate that a chosen one was not slower than
    int row, candidate;
  };
  // Sets what Law and its kin read. Law: logarithm of the nanoseconds on the row's own stack.
  void UnpackAll(std::span<const double> x) const;
  double Law(const FitRow& row, int candidate) const;
  double FastestLaw(const FitRow& row) const;
  void AddLaw(std::span<const double> x, const FitRow& row, int candidate, double factor, SparseRows* rows) const;
  void AddStack(const FitRow& row, int candidate, double law, double factor, SparseRows* rows) const;
  void AddHarness(std::span<const double> x, const FitRow& row, const Observed& seen, SparseRows* rows) const;
  void MainRow(std::span<const double> x, const FitRow& row, SparseRows* rows) const;

  const FitGroup& group_;
  const FitLayout& layout_;
  std::vector<const FitRow*> rows_;
  std::vector<Other> one_sided_;
  mutable std::vector<std::vector<double>> parameters_;  // by candidate, at the point last unpacked
  mutable std::vector<StackRate> rates_;                 // by stack, likewise
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_RESIDUALS_H_
