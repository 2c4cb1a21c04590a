// What is left between measured and predicted, split into what launches share and what each has of its own.
#ifndef SPILLWAY_CALIBRATE_FIT_ERRORS_H_
#define SPILLWAY_CALIBRATE_FIT_ERRORS_H_

#include <span>
#include <vector>

namespace spillway {

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

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_ERRORS_H_
