// Where each parameter of a group stands among the variables of its fit, and on which scale.
#ifndef SPILLWAY_CALIBRATE_FIT_LAYOUT_H_
#define SPILLWAY_CALIBRATE_FIT_LAYOUT_H_

#include <span>
#include <vector>

#include "calibrate/fit/group.h"
#include "model/stats/least_squares.h"

namespace spillway {

// What a harness spends on one call, nanoseconds: before the kernel starts, and while it runs; a shorter kernel takes
// as long as the latter.
struct HarnessTime {
  double added = 0, hidden = 0;
};
// The same over a harness' rows, in their order: hidden grows linearly from the first to the last, added with a power
// of the place (what a framework remembers of earlier calls slows the later ones, not quite in proportion).
struct HarnessCurve {
  HarnessTime first, last;
  double power = 1;
  HarnessTime At(double order) const;  // FitRow::order
};
// Variables of a harness: log added at the first row, log of its growth to the last, the same of hidden, log power.
constexpr int kHarnessVariables = 5;

// Variables: every candidate's parameters in turn (as logarithms), then kHarnessVariables per harness,
// then kStackVariables per stack other than the reference.
class FitLayout {
 public:
  explicit FitLayout(const FitGroup& group);
  const std::vector<LeastSquaresVariable>& variables() const { return variables_; }
  int First(int candidate) const { return first_[static_cast<std::size_t>(candidate)]; }
  int Harness(int harness) const { return harnesses_ + kHarnessVariables * harness; }
  // -1: the reference, which has no variables.
  int Stack(int stack) const { return stacks_[static_cast<std::size_t>(stack)]; }
  // The candidate's parameters at x, as its form takes them.
  void Unpack(std::span<const double> x, int candidate, std::span<double> parameters) const;
  // Nothing for harness -1.
  HarnessCurve Curve(std::span<const double> x, int harness) const;
  StackRate Rate(std::span<const double> x, int stack) const;

 private:
  std::vector<LeastSquaresVariable> variables_;
  std::vector<int> first_;
  int harnesses_ = 0;
  std::vector<int> stacks_;
};

// Logarithm of what a harness shows of a kernel: added + (kernel^p + hidden^p)^(1/p). The three shares are its
// derivatives with respect to the logarithms of kernel, added and hidden; they sum to 1.
struct Observed {
  double log_time = 0;
  double kernel = 1, added = 0, hidden = 0;
};
Observed Observe(double log_kernel, const HarnessTime& harness);
inline Observed Observe(double log_kernel, double floor) { return Observe(log_kernel, HarnessTime{0, floor}); }

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_LAYOUT_H_
