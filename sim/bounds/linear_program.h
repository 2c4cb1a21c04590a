// A linear program, minimised with a guarantee: the answer is never above the true minimum.
//
//   minimise  sum cost_j x_j   subject to   sum a_ij x_j >= b_i,   0 <= x_j <= upper_j
//
// Clp solves it; its dual values y, negative ones set to 0, then give by weak duality
//
//   minimum >= sum_i y_i b_i + sum_j min(0, (cost_j - sum_i y_i a_ij) upper_j)
//
// whatever tolerances it worked with and even if it gave up early. (Columns with other lower bounds l: the sum is of
// min(reduced cost times l, reduced cost times upper).) The one place that includes Clp.
#ifndef SPILLWAY_SIM_BOUNDS_LINEAR_PROGRAM_H_
#define SPILLWAY_SIM_BOUNDS_LINEAR_PROGRAM_H_

#include <memory>
#include <vector>

namespace spillway {

class LinearProgram {
 public:
  struct Term {
    int column = 0;
    double value = 0;
  };
  // Returns the column's index. Coefficients within a few powers of ten of 1 are best. REQUIRES: upper is finite.
  int AddColumn(double cost, double upper);
  // At most one term per column; terms that are 0 are dropped.
  void AddRow(const std::vector<Term>& terms, double at_least);
  int columns() const { return static_cast<int>(cost_.size()); }
  int rows() const { return static_cast<int>(at_least_.size()); }

  // A lower bound on the minimum; equal to it up to rounding when there is a solution. Deterministic.
  double Minimum() const;

  const std::vector<double>& upper() const { return upper_; }  // by column

  // Solves the program again and again with other bounds on its columns, each time from where the last one ended.
  class Solver {
   public:
    // The program must outlive it, unchanged. A minimum that takes more iterations is given up.
    explicit Solver(const LinearProgram& program, int most_iterations = 100'000);
    ~Solver();
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;
    struct Solution {
      enum class Kind { kFound, kNone, kGivenUp } kind = Kind::kGivenUp;  // kNone: the rows contradict each other
      double bound = 0;                                                   // never above the minimum
      std::vector<double> columns;                                        // of kFound: where it is, up to tolerances
    };
    Solution Minimum(const std::vector<double>& lower, const std::vector<double>& upper);

   private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

 private:
  double DualBound(const std::vector<double>& dual, const std::vector<double>& lower,
                   const std::vector<double>& upper) const;

  std::vector<double> cost_, upper_;  // by column
  std::vector<double> at_least_;      // by row
  std::vector<int> row_start_{0};     // of row i's terms; one more at the end
  std::vector<int> column_;           // by term
  std::vector<double> value_;         // by term
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_LINEAR_PROGRAM_H_
