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

struct LinearProgram::Solver::Parts {
  const LinearProgram& program;
  int most_iterations;
  ClpSimplex solver{};
};

LinearProgram::Solver::Solver(const LinearProgram& program, int most_iterations)
    : parts_(new Parts{program, most_iterations}) {
  const CoinPackedMatrix matrix(false, program.columns(), program.rows(),
                                static_cast<CoinBigIndex>(program.value_.size()), program.value_.data(),
                                program.column_.data(), program.row_start_.data(), nullptr);
  const std::vector<double> lower(program.cost_.size(), 0.0);
  parts_->solver.setLogLevel(0);
  parts_->solver.loadProblem(matrix, lower.data(), program.upper_.data(), program.cost_.data(),
                             program.at_least_.data(), nullptr);
}

LinearProgram::Solver::~Solver() = default;

LinearProgram::Solver::Solution LinearProgram::Solver::Minimum(const std::vector<double>& lower,
                                                               const std::vector<double>& upper) {
  ClpSimplex& solver = parts_->solver;
  for (std::size_t j = 0; j < lower.size(); ++j) solver.setColumnBounds(static_cast<int>(j), lower[j], upper[j]);
  solver.setMaximumIterations(solver.numberIterations() + parts_->most_iterations);
  solver.dual();
  Solution solution;
  if (solver.isProvenPrimalInfeasible()) {
    solution.kind = Solution::Kind::kNone;
    return solution;
  }
  std::vector<double> dual(parts_->program.at_least_.size(), 0.0);
  if (const double* prices = solver.getRowPrice()) {
    for (std::size_t i = 0; i < dual.size(); ++i) dual[i] = std::max(0.0, prices[i]);
  }
  solution.bound = parts_->program.DualBound(dual, lower, upper);
  if (!solver.isProvenOptimal()) return solution;
  solution.kind = Solution::Kind::kFound;
  solution.columns.assign(solver.getColSolution(), solver.getColSolution() + lower.size());
  return solution;
}

double LinearProgram::Minimum() const {
  return Solver(*this, kMostIterations).Minimum(std::vector<double>(cost_.size(), 0.0), upper_).bound;
}

double LinearProgram::DualBound(const std::vector<double>& dual, const std::vector<double>& lower,
                                const std::vector<double>& upper) const {
  double bound = 0;
  std::vector<double> reduced = cost_;
  for (std::size_t i = 0; i < dual.size(); ++i) {
    bound += dual[i] * at_least_[i];
    for (int k = row_start_[i]; k < row_start_[i + 1]; ++k) {
      const auto term = static_cast<std::size_t>(k);
      reduced[static_cast<std::size_t>(column_[term])] -= dual[i] * value_[term];
    }
  }
  for (std::size_t j = 0; j < reduced.size(); ++j) bound += std::min(reduced[j] * lower[j], reduced[j] * upper[j]);
  return bound;
}

}  // namespace spillway
