// The joint fit of one group: which parameters explain its rows best, given their priors.
//
// Residuals are logarithms, measured over predicted:
//   the algorithm is known       log t - log obs(f_a), f_a its law
//   ... and was the fastest      also min(0, log obs(f_b) - log t) for every other b: it was not faster
//   only that it was the fastest log t - log obs(min over b of f_b)
// obs(f) is what the harness shows of a kernel of f: its own time per call where that is longer (ObservedLog).
// Derivatives through the minimum are shared between algorithms that are nearly as fast (a soft minimum), so that a
// fit is not stuck with its first guess of which one ran.
#ifndef SPILLWAY_CALIBRATE_FIT_SOLVE_H_
#define SPILLWAY_CALIBRATE_FIT_SOLVE_H_

#include <span>
#include <vector>

#include "calibrate/fit/group.h"
#include "calibrate/fit/layout.h"
#include "model/stats/least_squares.h"

namespace spillway {

struct GroupFit {
  std::vector<std::vector<double>> parameters;  // by candidate, in the form's order
  std::vector<HarnessCurve> harnesses;          // by harness
  std::vector<StackRate> stacks;                // by stack; none of the reference
  double scale = 0;                             // of the residuals
  bool converged = false;
  // Cholesky factor of the precision of all variables after the data: logarithms of the candidates' parameters in
  // order, then those of the harnesses and the stacks (fit/layout.h).
  SquareMatrix precision{0};
};

struct Prediction {
  double log_time = 0;  // of nanoseconds
  int candidate = -1;
};

// Fits the rows with these indices.
GroupFit SolveGroup(const FitGroup& group, std::span<const int> rows);

// Kernel alone, on the row's own stack. REQUIRES: the candidate can run the row.
double LogTime(const FitGroup& group, const GroupFit& fit, const FitRow& row, int candidate);
// The fastest of `row.runnable`, kernel alone.
Prediction Fastest(const FitGroup& group, const GroupFit& fit, const FitRow& row);
// What the harness of `row` shows of a kernel of that time.
double ObservedLog(const GroupFit& fit, const FitRow& row, double log_time);

// How much of a candidate's prior uncertainty its fit has left: the variance of the predicted logarithm from the
// parameters' uncertainty, after the data and before, both as medians over the rows that it can run.
struct Learnt {
  double variance = 0, prior_variance = 0;
};
Learnt LearntOf(const FitGroup& group, const GroupFit& fit, int candidate);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_SOLVE_H_
