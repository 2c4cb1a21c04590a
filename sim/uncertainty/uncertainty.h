// How sure a predicted step time is: the step simulated again under draws of the cost model's errors.
//
// A draw multiplies every duration by exp of a normal deviate, made up of three parts:
//   stack   one for all kernels of a device: driver, clocks, library version   (Device::stack_error); another one for
//           devices whose models, or figures where there are none, differ; and one for all copies of a link, where its
//           curves are of another host                                         (Link::host_error)
//   model   one for all answers of the same model, law or curve                (Cost::shared_error)
//   own     one for each launch, by what it computes                           (rest of Cost::error)
// How a draw is made of them says sim/uncertainty/drawn_error.h.
// Errors that are shared do not average out: 348 independent ones of 15 % make 1.2 % of a step, shared ones 15 %.
//
// The draws are common: draw i means the same deviates for every strategy, batch and runtime, and for machines whose
// models say the same, whatever they are called. So two rows may be compared draw by draw, where most of the error
// cancels. Over all kDraws draws deviates are stratified (model/stats/deviates.h); the few whose steps are simulated are the first of
// them, as good as drawn freely, and the interval's ends are sharpened by the rest.
//
// In unified memory what faults take is drawn from the range that it has (sim/engine/managed_memory.h).
//
// From the errors of the cost model alone: what Programs leave out of a runtime, or get wrong about it, is not in it
// and may well be larger.
#ifndef SPILLWAY_SIM_UNCERTAINTY_UNCERTAINTY_H_
#define SPILLWAY_SIM_UNCERTAINTY_UNCERTAINTY_H_

#include <cstdint>
#include <vector>

#include "sim/evaluate/evaluation.h"

namespace spillway {

struct DrawOptions {
  int draws = 128;         // steps simulated; 8 to kDraws
  std::uint64_t seed = 1;  // other draws, to see how much of a result is chance
};

struct Interval {
  Nanos low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

struct StepDraws {
  std::vector<Nanos> times;  // by draw
  // From the 10th to the 90th percentile, from these draws and kDraws cheap ones (model/stats/quantile.h): the sums of
  // kernels and of copies with the errors that launches share. Each end has a standard error below 1 % of the step
  // (tests/sim/uncertainty_test.cc), and no more digits than it deserves: RoundedToItsWidth.
  Interval interval;
};

// REQUIRES: evaluation.feasible; plan, costs and capacity are those it was evaluated with.
StepDraws DrawStep(const Evaluation& evaluation, const Plan& plan, const CostModel& costs, Bytes capacity,
                   const DrawOptions& options = {});

// Both ends as multiples of the power of ten between 1 and 10 % of the interval's width; one of no width as it is.
Interval RoundedToItsWidth(Interval interval);
// The same, but an end that would be rounded past `step`, which the interval holds, is rounded outwards.
Interval RoundedAround(Nanos step, Interval interval);

// Share of the draws in which a is faster, equal times counting half. REQUIRES: the same draws, at least one.
double ShareFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b);
// Whether a is faster in at least 90 % of them.
bool SurelyFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b);
// Whether neither of the two is faster in at least 90 % of the draws.
bool CannotBeToldApart(const std::vector<Nanos>& a, const std::vector<Nanos>& b);

}  // namespace spillway

#endif  // SPILLWAY_SIM_UNCERTAINTY_UNCERTAINTY_H_
