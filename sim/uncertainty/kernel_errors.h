// What the time of one kernel may err by, and who errs alike: the parts of its Cost's error and the keys of their deviates.
#ifndef SPILLWAY_SIM_UNCERTAINTY_KERNEL_ERRORS_H_
#define SPILLWAY_SIM_UNCERTAINTY_KERNEL_ERRORS_H_

#include <cstdint>

#include "model/cost/cost_model.h"
#include "sim/uncertainty/drawn_error.h"

namespace spillway {

// Of a cost that belongs to `work` (as for KeyOfWork); `all`: what everything of its kind shares.
Errors ErrorsOf(const Cost& cost, const ErrorPart& all, std::uint64_t work, std::uint64_t seed);

// What all kernels of a device share: it goes by its models and laws, or its bare figures, never by its name.
ErrorPart StackErrorOf(const Device& device, std::uint64_t seed);

Errors ErrorsOfKernel(const CostModel& costs, const Launch& launch, std::uint64_t seed, int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_UNCERTAINTY_KERNEL_ERRORS_H_
