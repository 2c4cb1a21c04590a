// The uncertainty of a predicted step time: the step is simulated again under random draws of the cost model's errors.
//
// A draw multiplies every duration by exp of a normal deviate with three parts:
//   stack   one for all kernels of a device: driver, clocks, library version   (Device::stack_error)
//           one for all copies of a link, if its curves are of another host    (Link::host_error)
//   model   one for all answers of the same model, law or curve                (Cost::shared_error)
//   own     one for each launch, by what it computes                           (rest of Cost::error)
// sim/uncertainty/drawn_error.h combines them. Devices with other models, or without models but with other figures,
// have another stack deviate. Shared errors do not average out: 348 independent errors of 15 % make
// 1.2 % of a step; a shared error of 15 % makes 15 %.
//
// The draws are common: draw i has the same deviates for every strategy, batch and runtime, and for machines with the
// same models. So two rows can be compared draw by draw, where most of the error cancels. Deviates are stratified over
// all kDraws draws (model/stats/deviates.h). Only the first few draws are simulated, which are as good as free draws.
// The other draws sharpen the ends of the interval.
//
// In unified memory, the time of faults is drawn from its range (sim/engine/managed_memory.h).
//
// Where a runtime has a host's time per op (Runtime::framework_time), all host times err together, too.
//
// The interval covers these errors only. Errors of Programs about a runtime are not in it and may be larger.
#ifndef SPILLWAY_SIM_UNCERTAINTY_UNCERTAINTY_H_
#define SPILLWAY_SIM_UNCERTAINTY_UNCERTAINTY_H_

#include <cstdint>
#include <vector>

#include "sim/evaluate/evaluation.h"

namespace spillway {

struct DrawOptions {
  int draws = 128;         // steps simulated; 8 to kDraws
  std::uint64_t seed = 1;  // another seed gives other draws, to see how much of a result is chance
};

struct Interval {
  Nanos low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

struct StepDraws {
  std::vector<Nanos> times;  // by draw
  // From the 10th to the 90th percentile, in nanoseconds. Computed from these draws and kDraws cheap ones, the sums of
  // kernels and of copies with the errors that launches share (model/stats/quantile.h). Each end has a standard error
  // below 1 % of the step (tests/sim/uncertainty_test.cc), and is rounded by RoundedToItsWidth.
  Interval interval;
};

// REQUIRES: evaluation.feasible; plan, costs and capacity are those it was evaluated with.
StepDraws DrawStep(const Evaluation& evaluation, const Plan& plan, const CostModel& costs, Bytes capacity,
                   const DrawOptions& options = {});

// Rounds both ends to multiples of the power of ten between 1 and 10 % of the interval's width. An interval of width 0
// stays. Example: [1,234, 1,987] has width 753, so the ends become multiples of 10.
Interval RoundedToItsWidth(Interval interval);
// The same, but an end that would be rounded past `step`, which the interval holds, is rounded outwards.
Interval RoundedAround(Nanos step, Interval interval);

// Share of the draws in which a is faster, equal times counting half. REQUIRES: the same draws, at least one.
double ShareFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b);
// True if a is faster in at least 90 % of the draws.
bool SurelyFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b);
// True if neither of the two is faster in at least 90 % of the draws.
bool CannotBeToldApart(const std::vector<Nanos>& a, const std::vector<Nanos>& b);

}  // namespace spillway

#endif  // SPILLWAY_SIM_UNCERTAINTY_UNCERTAINTY_H_
