// By which algorithms a system that asks for them by name runs its convolutions: the least workspace, the fastest, or the
// fastest that the memory left at each of them holds.
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_CONVOLUTION_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_CONVOLUTION_WAYS_H_

#include <cstdint>
#include <vector>

#include "model/cost/menu.h"
#include "sim/planning/strategy.h"
#include "sim/program/step_tables.h"

namespace spillway {

// A convolution and the ways to run it by name that no other one beats in both workspace and time, the fastest first.
struct Choosable {
  OpId op = kNoOp;
  std::vector<MenuEntry> ways;  // empty: nothing can be asked for by name
};
std::vector<Choosable> ChoosablesOf(const Problem& problem);

enum class Ways : std::uint8_t { kLeastWorkspace, kFastest };
// Where nothing can be asked for by name the library decides.
std::vector<OpDecision> Algorithms(const std::vector<Choosable>& convolutions, Ways ways);

// REQUIRES: the ops of `plan` are those of kLeastWorkspace. What the plan leaves free at each convolution may go to a faster
// algorithm.
void UpgradeWithin(const Problem& problem, const StepTables& tables, const std::vector<Choosable>& convolutions,
                   Plan& plan);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_CONVOLUTION_WAYS_H_
