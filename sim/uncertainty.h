// How sure a predicted step time is: the step simulated again under draws of the cost model's errors.
//
// A draw multiplies every duration by exp of a normal deviate, made up of three parts:
//   stack   one for all kernels of a device: driver, clocks, library version   (Device::stack_error); another one for
//           machines that do not share its models; and one for all copies of a machine, where its curves are of
//           another host                                                       (Link::host_error)
//   model   one for all answers of the same model, law or curve                (Cost::shared_error)
//   own     one for each launch, by what it computes                           (rest of Cost::error)
// Errors that are shared do not average out: 348 independent ones of 15 % make 1.2 % of a step, shared ones 15 %.
//
// The draws are common: draw i means the same deviates for every strategy, batch and runtime, and for machines with
// the same models. So two rows may be compared draw by draw, where most of the error cancels.
//
// From the errors of the cost model alone: what Programs leave out of a runtime, or get wrong about it, is not in it
// and may well be larger.
#ifndef SPILLWAY_SIM_UNCERTAINTY_H_
#define SPILLWAY_SIM_UNCERTAINTY_H_

#include <cstdint>
#include <vector>

#include "sim/evaluate.h"

namespace spillway {

struct DrawOptions {
  int draws = 64;
  std::uint64_t seed = 1;
};

// Step times by draw. A draw in which a pool runs out of memory counts as the longest time there is.
// REQUIRES: evaluation.feasible; plan and problem are those it was evaluated with.
std::vector<Nanos> DrawStepTimes(const Evaluation& evaluation, const Plan& plan, const Problem& problem,
                                 const DrawOptions& options = {});

// A standard normal deviate that depends on its key alone: the draws' source of chance.
double NormalDeviate(std::uint64_t key);

struct Interval {
  Nanos low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};
// From the 10th to the 90th percentile of the draws; {0, 0} without any.
Interval EightyPercentInterval(std::vector<Nanos> draws);

// Share of the draws in which a is faster, equal times counting half. REQUIRES: the same draws, at least one.
double ShareFaster(const std::vector<Nanos>& a, const std::vector<Nanos>& b);
// Whether neither of the two is faster in at least 90 % of the draws.
bool CannotBeToldApart(const std::vector<Nanos>& a, const std::vector<Nanos>& b);

}  // namespace spillway

#endif  // SPILLWAY_SIM_UNCERTAINTY_H_
