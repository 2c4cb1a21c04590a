// Predictions of a group's rows by fits that have not seen them.
#ifndef SPILLWAY_CALIBRATE_FIT_VALIDATE_H_
#define SPILLWAY_CALIBRATE_FIT_VALIDATE_H_

#include <span>
#include <vector>

#include "calibrate/fit/folds.h"
#include "calibrate/fit/solve.h"

namespace spillway {

// What is left between measured and predicted, split into what launches share and what each has of its own.
struct ErrorSample {
  double residual = 0;  // log(measured / predicted), the prediction made without this layer
  double weight = 1;    // near copies count less
  int stack = 0;        // software stack and network: those of one may be off together
  double offset = 0;    // what the fit adds to the logarithm of the prediction for knowing the stack
  int source = 0;       // who measured: several stacks may be of one
};

struct ModelError {
  double shared = 0, own = 0;  // standard deviations of the logarithm
};

// Without samples: what an unknown kernel model is worth.
constexpr ModelError kUnknownError{0.2, 0.3};

// Variance components by the method of moments (Searle, Casella and McCulloch, Variance Components, 1992, ch. 3), about
// zero, since a common bias is an error too. `own` is set from the 80th percentile of what is left, so that 80 %
// intervals hold 80 % although the tails are heavy; sources have a say of as many samples as they have, at most of 30,
// since what is asked about is the next source's, not more of the largest. Few samples leave `own` near the prior's,
// few stacks leave `shared` near what is usual; no samples at all: the prior. `shared` is for a stack that the fit has
// not seen: without offsets.
ModelError EstimateError(std::span<const ErrorSample> samples, const ModelError& prior = kUnknownError);

struct RowPrediction {
  bool made = false;     // false: the row was in no test set
  double log_time = 0;   // of what the sample is of: its algorithm where known and not the autotuner's choice, else the
                         // fastest; harness floor included; of nanoseconds
  int candidate = -1;    // the fastest
  double offset = 0;     // of log_time: for knowing the stack
  bool outside = false;  // by a fit that has seen nothing of the row's network, or of its source
};
RowPrediction PredictRow(const FitGroup& group, const GroupFit& fit, const FitRow& row);

// What folds.h needs of each row, in order.
std::vector<FoldItem> FoldItemsOf(const FitGroup& group, std::span<const Sample> samples);

// One prediction per row; each split's test rows by a fit of its training rows.
std::vector<RowPrediction> PredictHeldOut(const FitGroup& group, std::span<const Split> splits);

// `predictions` with those of left-out networks and sources (OutsideSplits) in place of others, where they could be
// made: what is left must hold twelve samples of an algorithm that is known to have run, or it would be told from
// nothing.
std::vector<RowPrediction> PredictOutside(const FitGroup& group, std::span<const Split> splits,
                                          std::vector<RowPrediction> predictions);

// The candidate whose error the row's prediction tells of.
int CandidateOf(const FitRow& row, const RowPrediction& prediction);
// Residuals of all rows (`candidate` < 0) or of one candidate.
std::vector<ErrorSample> ErrorSamples(const FitGroup& group, std::span<const RowPrediction> predictions, int candidate);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_VALIDATE_H_
