// Random plans over the choices that strategies have: which maps are kept, swapped or recomputed, and how early
// swap-ins start.
//
// An optimiser picks the plans about which its model is most optimistic, so these plans say little about the model's
// error. No model selects random plans. They are spread over strata: how many maps leave beyond the number that
// memory demands, the share of them that is recomputed, and the earliness of swap-ins. In each stratum some maps stay
// for a few ops before they leave. Every plan returned is feasible in an arena.
#ifndef SPILLWAY_SIM_PLANNING_RANDOM_PLANS_H_
#define SPILLWAY_SIM_PLANNING_RANDOM_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/planning/strategy.h"

namespace spillway {

enum class Earliness : std::uint8_t {
  kLate,   // swap-ins are issued when they are needed
  kNear,   // a few ops ahead
  kEarly,  // anywhere in the backward half, as room permits
};

struct Stratum {
  double moved = 0;       // share of the maps that leave the device, where memory allows
  double recomputed = 0;  // share of these that are recomputed
  Earliness earliness = Earliness::kLate;
  std::string Text() const;  // "75 % moved, 33 % of it recomputed, near"
};
// All 36 strata: 3 x 4 x 3 values.
std::vector<Stratum> Strata();

struct DrawnPlan {
  Plan plan;
  Stratum stratum;  // the target; more maps leave if the target does not fit
};

struct DrawPlansOptions {
  int plans = 30;
  std::uint64_t seed = 1;
  int attempts = 40;  // the most plans tried for each plan wanted
};

// Distinct plans, each within `problem.capacity` and on `problem.runtime` (an arena). Strata take turns, in random
// order. Returns fewer plans than asked for if few plans fit or differ.
std::vector<DrawnPlan> DrawPlans(const Problem& problem, const DrawPlansOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_RANDOM_PLANS_H_
