#include "sim/bounds/linear_program.h"

#include <algorithm>
#include <coin/ClpSimplex.hpp>

namespace spillway {

namespace {

// ResNet-50 takes some 200, ResNeXt-101 3D 600. A program that takes more is given up with the bound it has by then.
constexpr int kMostIterations = 2000;

}  // namespace

int LinearProgram::AddColumn(double cost, double upper) {
  cost_.push_back(cost);
  upper_.push_back(upper);
  return columns() - 1;
}

void LinearProgram::AddRow(const std::vector<Term>& terms, double at_least) {
  for (const Term& term : terms) {
    if (term.value == 0) continue;
    column_.push_back(term.column);
    value_.push_back(term.value);
  }
  row_start_.push_back(static_cast<int>(column_.size()));
  at_least_.push_back(at_least);
}

double LinearProgram::Minimum() const {
  const CoinPackedMatrix matrix(false, columns(), rows(), static_cast<CoinBigIndex>(value_.size()), value_.data(),
                                column_.data(), row_start_.data(), nullptr);
  const std::vector<double> lower(cost_.size(), 0.0);
  ClpSimplex solver;
  solver.setLogLevel(0);
  solver.setMaximumIterations(kMostIterations);
  solver.loadProblem(matrix, lower.data(), upper_.data(), cost_.data(), at_least_.data(), nullptr);
  solver.dual();
  std::vector<double> dual(at_least_.size(), 0.0);
  if (const double* prices = solver.getRowPrice()) {
    for (std::size_t i = 0; i < dual.size(); ++i) dual[i] = std::max(0.0, prices[i]);
  }
  return DualBound(dual);
}

double LinearProgram::DualBound(const std::vector<double>& dual) const {
  double bound = 0;
  std::vector<double> reduced = cost_;
  for (std::size_t i = 0; i < dual.size(); ++i) {
    bound += dual[i] * at_least_[i];
    for (int k = row_start_[i]; k < row_start_[i + 1]; ++k) {
      const auto term = static_cast<std::size_t>(k);
      reduced[static_cast<std::size_t>(column_[term])] -= dual[i] * value_[term];
    }
  }
  for (std::size_t j = 0; j < reduced.size(); ++j) bound += std::min(0.0, reduced[j] * upper_[j]);
  return bound;
}

}  // namespace spillway
