// Fast simulation of one change to a classification: a swapped map whose copies take no time, or that is recomputed.
//
// The published code, and step 2 on the ladder, ask for this change of every swapped map, again after each decision.
// That is a million simulations for a network of a thousand layers, and each differs little from the one before. So the
// classification is simulated once with a trace of its state at each op and timing (pooch_run.h). An alternative starts
// at the first op or timing that its map affects. It ends where its state equals the traced state, with all clocks
// shifted by the same time; the rest is the traced run, shifted. As long as only the lane is ahead and no op waits for
// it, ops are skipped.
//
// Answers are those of PoochModel::Simulate to the nanosecond. Tested by pooch_alternatives_test (tests/sim/).
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_ALTERNATIVES_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_ALTERNATIVES_H_

#include <cstdint>
#include <vector>

#include "sim/strategies/pooch/pooch_model.h"
#include "sim/strategies/pooch/pooch_run.h"
#include "sim/strategies/pooch/search.h"

namespace spillway {

class SwapAlternatives {
 public:
  // `search` counts what is asked, and must outlive this.
  explicit SwapAlternatives(Search& search);

  // Sets out from these. REQUIRES: no map in class kFree.
  const Simulation& SetOut(const Classes& classes);
  const Simulation& base() const { return base_; }

  // REQUIRES, all: the base is feasible, `map` is swapped in it, needed by backward and may run again.
  // Its copies take no time: `total` and `backward_compute`.
  Simulation Instant(std::int32_t map);
  // It is recomputed: `feasible`, `endless` and, where feasible, `backward_compute`; no other times.
  Simulation Recomputed(std::int32_t map);
  // As Recomputed, with `total`: kNever if the change does not fit, or is seen early to take `enough` nanoseconds or
  // longer.
  Simulation RecomputedInTime(std::int32_t map, Nanos enough);

 private:
  void FindSlack();

  Search& search_;
  const PoochProfile& profile_;
  SimulationOptions options_;
  std::vector<std::int32_t> leaves_;       // by map: the forward op, by row, after which it leaves
  std::vector<std::int32_t> swap_out_;     // by map: of the base's swap-outs; -1: none
  std::vector<std::int32_t> last_timing_;  // by map, as in the profile
  std::vector<std::int32_t> swap_in_;      // by map: of the base's swap-ins; -1: none
  Classes classes_;
  RunTrace trace_;
  Simulation base_;
  SimulationScratch of_base_, clocks_, walk_;  // what the base left; a copy for other clocks; for other walks
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_ALTERNATIVES_H_
