// Cross-validation of a group's fit: predictions of rows by fits that have not seen these rows. The residuals give the
// errors of a model.
#ifndef SPILLWAY_CALIBRATE_FIT_VALIDATE_H_
#define SPILLWAY_CALIBRATE_FIT_VALIDATE_H_

#include <span>
#include <vector>

#include "calibrate/fit/folds.h"
#include "calibrate/fit/solve.h"

namespace spillway {

// The residual of one held-out prediction, with the factors that may explain it.
struct ErrorSample {
  double residual = 0;  // log(measured / predicted); the fit has not seen the layer
  double weight = 1;    // below 1 if other samples are nearly the same
  int stack = 0;        // number of the pair of software stack and network; samples of a pair share an error
  double offset = 0;    // log(predicted / predicted for the reference stack)
  int source = 0;       // number of the harness that measured; a harness may have several stacks
};

// Standard deviations of log(measured / predicted): the part that all launches of a stack share, and each launch's own.
struct ModelError {
  double shared = 0, own = 0;
};

// The assumed error of a kernel model without samples.
constexpr ModelError kUnknownError{0.2, 0.3};

// Estimates variance components by the method of moments (Searle, Casella and McCulloch, Variance Components, 1992, ch.
// 3). Variances are about zero, since a common bias is an error, too.
//   own      from the 80th percentile of the residuals less the stack's share, so that 80 % intervals hold 80 % despite
//            heavy tails. A source weighs as many samples as it has, at most 30: the error has to hold for the next
//            source.
//   shared   for a stack that the fit has not seen, hence without offsets.
// With few samples `own` stays near that of `prior`; with few stacks `shared` stays near 0.05. No samples: `prior`.
ModelError EstimateError(std::span<const ErrorSample> samples, const ModelError& prior = kUnknownError);

struct RowPrediction {
  bool made = false;  // false: the row was in no test set
  // Logarithm of nanoseconds, with the harness's floor. The time is that of CandidateOf(): the algorithm that the
  // sample names, or the fastest candidate.
  double log_time = 0;
  int candidate = -1;    // the fastest candidate
  double offset = 0;     // log_time less the same for the reference stack
  bool outside = false;  // true: the fit has seen no row of the same network, or no row of the same source
};
RowPrediction PredictRow(const FitGroup& group, const GroupFit& fit, const FitRow& row);

// The facts by which folds.h splits rows, one for each row, in order.
std::vector<FoldItem> FoldItemsOf(const FitGroup& group, std::span<const Sample> samples);

// One prediction per row. Each split's test rows are predicted by a fit of its training rows.
std::vector<RowPrediction> PredictHeldOut(const FitGroup& group, std::span<const Split> splits);

// Returns `predictions`, replaced for the test rows of `splits` (OutsideSplits: networks and sources left out). A row
// keeps its old prediction if its algorithm is known and has fewer than twelve training samples.
std::vector<RowPrediction> PredictOutside(const FitGroup& group, std::span<const Split> splits,
                                          std::vector<RowPrediction> predictions);

// The candidate that the prediction is of: the algorithm that the sample names, unless an autotuner chose it; else the
// fastest.
int CandidateOf(const FitRow& row, const RowPrediction& prediction);
// The residuals of the predictions made: of all rows if `candidate` < 0, else of the rows of that candidate.
std::vector<ErrorSample> ErrorSamples(const FitGroup& group, std::span<const RowPrediction> predictions, int candidate);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_VALIDATE_H_
