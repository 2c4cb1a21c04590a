#include "sim/strategies/tvdnn/integer_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

namespace spillway::tvdnn {

namespace {

using Solution = LinearProgram::Solver::Solution;

constexpr double kWholeEnough = 1e-6;

// A box of the whole columns that may hold something better.
struct Region {
  double bound = 0;
  std::int64_t number = 0;  // in order of creation: the first of equals comes first
  std::vector<double> lower, upper;
  bool operator<(const Region& other) const {  // of a queue whose largest comes first
    return bound != other.bound ? bound > other.bound : number > other.number;
  }
};

class Search {
 public:
  Search(const IntegerProgram& program, std::int64_t most_nodes, double close)
      : program_(program), most_nodes_(most_nodes), close_(close), solver_(program.rows) {}

  IntegerSolution Run() {
    Open({0, 0, std::vector<double>(program_.rows.upper().size(), 0.0), program_.rows.upper()});
    // A relaxation and, mostly, a rounding for each of two halves.
    while (!open_.empty() && best_.nodes + 4 <= most_nodes_ && Promises(open_.top())) {
      const Region box = open_.top();
      open_.pop();
      Branch(box);
    }
    best_.bound = best_.value;
    if (!open_.empty() && Promises(open_.top())) best_.bound = open_.top().bound;
    if (given_up_) best_.bound = std::min(best_.bound, least_given_up_);
    if (!best_.found) best_.bound = open_.empty() ? 0 : open_.top().bound;
    return std::move(best_);
  }

 private:
  bool Promises(const Region& box) const { return !best_.found || box.bound < best_.value - close_; }

  Solution Solve(const std::vector<double>& lower, const std::vector<double>& upper) {
    ++best_.nodes;
    return solver_.Minimum(lower, upper);
  }

  // The column that is least whole; -1: all are.
  int Fractional(const std::vector<double>& columns) const {
    int found = -1;
    double most = kWholeEnough;
    for (const int column : program_.whole) {
      const double value = columns[static_cast<std::size_t>(column)];
      const double off = std::abs(value - std::round(value));
      if (off > most) most = off, found = column;
    }
    return found;
  }

  void Keep(Solution solution) {
    double value = solution.bound;
    for (const int column : program_.whole) {
      double& of = solution.columns[static_cast<std::size_t>(column)];
      of = std::round(of);
    }
    if (best_.found && value >= best_.value) return;
    best_.found = true;
    best_.value = value;
    best_.columns = std::move(solution.columns);
  }

  // The same with every whole column rounded up.
  void TryRounded(const Region& box, const std::vector<double>& columns) {
    std::vector<double> lower = box.lower, upper = box.upper;
    for (const int column : program_.whole) {
      const auto c = static_cast<std::size_t>(column);
      lower[c] = upper[c] = std::min(upper[c], std::ceil(columns[c] - kWholeEnough));
    }
    Solution rounded = Solve(lower, upper);
    if (rounded.kind == Solution::Kind::kFound) Keep(std::move(rounded));
  }

  // Solves a box's relaxation; what it leaves to be decided waits for its turn.
  void Open(Region box) {
    Solution relaxed = Solve(box.lower, box.upper);
    if (relaxed.kind == Solution::Kind::kNone) return;
    box.bound = std::max(box.bound, relaxed.bound);
    if (!Promises(box)) return;
    if (relaxed.kind == Solution::Kind::kGivenUp) {
      least_given_up_ = given_up_ ? std::min(least_given_up_, box.bound) : box.bound;
      given_up_ = true;
      return;
    }
    if (Fractional(relaxed.columns) < 0) return Keep(std::move(relaxed));
    TryRounded(box, relaxed.columns);
    box.number = boxes_++;
    columns_.push_back(std::move(relaxed.columns));
    open_.push(std::move(box));
  }

  void Branch(const Region& box) {
    const std::vector<double>& columns = columns_[static_cast<std::size_t>(box.number)];
    const int column = Fractional(columns);
    const double value = columns[static_cast<std::size_t>(column)];
    for (const bool up : {true, false}) {
      Region half{box.bound, 0, box.lower, box.upper};
      (up ? half.lower : half.upper)[static_cast<std::size_t>(column)] = up ? std::ceil(value) : std::floor(value);
      Open(std::move(half));
    }
  }

  const IntegerProgram& program_;
  const std::int64_t most_nodes_;
  const double close_;
  LinearProgram::Solver solver_;
  std::priority_queue<Region> open_;
  std::vector<std::vector<double>> columns_;  // by box: of its relaxation
  std::int64_t boxes_ = 0;
  IntegerSolution best_;
  bool given_up_ = false;
  double least_given_up_ = std::numeric_limits<double>::max();
};

}  // namespace

IntegerSolution Minimise(const IntegerProgram& program, std::int64_t most_nodes, double close) {
  return Search(program, most_nodes, close).Run();
}

}  // namespace spillway::tvdnn
