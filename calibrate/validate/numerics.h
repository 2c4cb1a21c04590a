// Whether two training runs came to the same numbers.
//
// Tested by validate_numerics_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_NUMERICS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_NUMERICS_H_

#include <vector>

#include "calibrate/run/cpu/values.h"
#include "sim/validation.h"

namespace spillway {

// What training has changed, as bytes, and the losses on the way.
struct TrainingResults {
  std::vector<std::vector<std::byte>> tensors;  // by tensor; empty: not taken
  std::vector<double> losses;                   // by iteration; empty where the device tells none
};
// Parameters and optimizer state.
TrainingResults ResultsOf(const TrainingStep& step, const TrainingValues& values, std::vector<double> losses);

// Of all tensors that both have, and of the losses. kSkipped where neither has any.
// The difference of a tensor is the largest one of its elements, over the largest magnitude in `expected`; infinite where
// only one of two elements is a number. fp32.
Numerics CompareResults(const TrainingStep& step, const TrainingResults& actual, const TrainingResults& expected);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_NUMERICS_H_
