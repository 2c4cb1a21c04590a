// Plans drawn at random over what strategies choose from: which maps stay, which are swapped and which recomputed, and
// how early copies come back.
//
// An optimiser picks the plans that its model is most optimistic about, so its winners say little about the model's
// error; plans that nobody picked do. They are spread over strata: how much is moved beyond what memory demands, the
// share of it that is recomputed, and the earliness of swap-ins; in any of them some maps stay for a few ops before they
// leave. Every plan returned is feasible in an arena.
#ifndef SPILLWAY_SIM_PLANNING_RANDOM_PLANS_H_
#define SPILLWAY_SIM_PLANNING_RANDOM_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/planning/strategy.h"

namespace spillway {

enum class Earliness : std::uint8_t {
  kLate,   // copies back are issued when they are needed
  kNear,   // a few ops ahead
  kEarly,  // anywhere in the backward half, as room permits
};

struct Stratum {
  double moved = 0;       // share of the maps that leave the device, where memory allows
  double recomputed = 0;  // share of these that are computed again
  Earliness earliness = Earliness::kLate;
  std::string Text() const;  // "75 % moved, 33 % of it recomputed, near"
};
// 3 x 4 x 3 of them.
std::vector<Stratum> Strata();

struct DrawnPlan {
  Plan plan;
  Stratum stratum;  // aimed at; more is moved where that does not fit
};

struct DrawPlansOptions {
  int plans = 30;
  std::uint64_t seed = 1;
  int attempts = 40;  // plans looked at for each that is wanted
};

// Different plans, each within `problem.capacity` and on `problem.runtime` (an arena); strata take turns, in random
// order. Fewer than asked for where hardly any plan fits or differs.
std::vector<DrawnPlan> DrawPlans(const Problem& problem, const DrawPlansOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_RANDOM_PLANS_H_
