// What PoocH's classification steps share: a model, a rule for swap-ins, and a count of the simulations spent.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_SEARCH_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {

struct Search {
  Search(const PoochModel& the_model, SwapInRule the_rule)
      : model(&the_model), rule(the_rule), scratch(the_model.MakeScratch()) {}

  Simulation Simulate(const Classes& classes, std::int32_t instant = -1) {
    ++simulations;
    return model->Simulate(
        classes, {.rule = rule, .instant = instant, .enforce_capacity = true, .keep_passed = keep_passed}, scratch);
  }
  // Whether they fit, without times of backward.
  bool Fits(const Classes& classes) {
    ++simulations;
    return model
        ->Simulate(classes,
                   {.rule = rule, .instant = -1, .enforce_capacity = true, .keep_passed = keep_passed, .times = false},
                   scratch)
        .feasible;
  }
  // Their times with no regard to memory.
  Simulation SimulateUnlimited(const Classes& classes) {
    ++simulations;
    return model->Simulate(
        classes, {.rule = rule, .instant = -1, .enforce_capacity = false, .keep_passed = keep_passed}, scratch);
  }
  // Every map that can be decided in class swap.
  Classes AllSwap() const { return Classes(model->profile().maps.size(), MapClass::kSwap); }

  const PoochModel* model;
  SwapInRule rule;
  bool keep_passed = true;
  SimulationScratch scratch;
  std::int64_t simulations = 0;
};

// Step 1 (paper section 4.4.2): keep or swap.
struct KeepOrSwap {
  Simulation simulation;  // of `classes`; infeasible: even swapping everything does not fit
  Classes classes;
  std::vector<std::int32_t> out_stalls;  // L_O: maps whose swap-out the all-swap timeline does not hide
  std::vector<std::int32_t> in_stalls;   // L_I: the same of swap-ins
  bool exact = true;                     // every keep/swap choice over L_I was tried or excluded by a bound
};

// The paper's search. Over L_I: a binary tree, cut where a bound shows that no leaf below is faster than the best one
// so far or that what is kept already does not fit. At its leaves L_O \ L_I is scanned from the output layer, swap
// becoming keep as long as that fits, and the fastest point of the scan counts. Maps in neither list are swapped.
// With more than kExactLimit maps in L_I the search stops after `cap` simulations.
constexpr std::size_t kExactLimit = 12;
KeepOrSwap SearchKeepOrSwap(Search& search, std::int64_t cap);

// The published code's way: from the output layer, first L_O up to the first map that does not fit, then all others
// that do.
KeepOrSwap GreedyKeepOrSwap(Search& search);

// Step 2 (paper section 4.4.3): of the swapped maps, which one gains most from being recomputed instead, and again.
enum class RecomputeOverhead : std::uint8_t {
  kTimeline,  // the paper: T(recomputed) - T(swapped by copies that take no time), all else the same
  kCompute,   // the published code: backward compute time (recomputed) - (kept), stalls left out
};
// Changes `classes` in place and returns the simulation of the result. `notes` gets, by map, why it was or was not
// changed ("" where step 1 alone decided).
Simulation ChooseRecompute(Search& search, RecomputeOverhead overhead, Classes& classes,
                           std::vector<std::string>& notes);

// The same for kTimeline on a rung of the ladder: whether a map gains is asked first, which mostly spares the other
// simulation, and in the end every swapped map is asked again, so that none gains any more. Looks at no further map when
// `most` simulations are spent. The result is never slower than what it was given.
Simulation ChooseRecomputeWithin(Search& search, std::int64_t most, Classes& classes);

// By map, what the timeline's ratio says of it with all others as they are; "" where step 1 alone decided. `found_for`:
// the capacity that `classes` were made for, named where the ratio here says otherwise. REQUIRES: `classes` fit.
std::vector<std::string> NotesAt(Search& search, const Classes& classes, Bytes found_for);

// ---- Where a search begins, and what becomes of its classes.

// Adds to `plan` one decision per map that is not kept, for the gap between its forward and its backward uses. Swaps
// come first, in the order of the last simulation's swap-ins, each issued at the first op of its timing; a swapped map
// that the simulation never brought back is left alone. `notes`: by map, put behind the reason; may be empty.
// REQUIRES: the last simulation of `search` was of `classes`, and came to its end.
void AddDecisions(const Search& search, const Classes& classes, const std::vector<std::string>& notes, Plan& plan);

// Its timings are the backward units of the problem's runtime, if that overrides.
PoochModel MakeModel(const Problem& problem);

// "out_of_memory: needs 17.3 GB at op conv1:forward with every map swapped, 15.2 GB are usable".
Planned DoesNotFit(const Problem& problem, const PoochProfile& profile, const Simulation& simulation);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_SEARCH_H_
