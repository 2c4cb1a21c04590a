// Which configuration each kernel of a network gets when all their workspaces together have a limit: the 0/1 program of
// micro-cuDNN's WD (workspace division), solved exactly.
//
//   minimise  sum_k time(c_k)   subject to   sum_k workspace(c_k) <= total,   one c_k of the choices of each kernel k
//
// The published code gives it to GLPK. It is a multiple-choice knapsack, for which this is shorter than a solver's call
// and needs no tolerances (a byte too much is too much): kernel by kernel, all sums that no other one beats in both
// workspace and time, without those that cannot lead to anything faster than a solution at hand. What a sum can still
// lead to is bounded by time + price x workspace, the price being that of the linear program's optimum (Kellerer,
// Pferschy and Pisinger, Knapsack Problems, chapter 11). Solution and price come from the greedy solution of that program.
#ifndef SPILLWAY_SIM_STRATEGIES_UCUDNN_WORKSPACE_DIVISION_H_
#define SPILLWAY_SIM_STRATEGIES_UCUDNN_WORKSPACE_DIVISION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hw/text/units.h"

namespace spillway::ucudnn {

struct Choice {
  Bytes workspace = 0;
  Nanos time = 0;
};

struct Division {
  std::vector<std::size_t> choice;  // by kernel
  Nanos time = 0;
  Bytes workspace = 0;
  Nanos bound = 0;          // nothing is faster; `time`, unless the search was cut off
  std::int64_t states = 0;  // sums looked at
};

// REQUIRES: choices of each kernel ascend in workspace and descend in time, both strictly, and times add up to less than
// 1e14. nullopt: some kernel has no choice, or the smallest workspaces do not fit together. Deterministic. When more than
// `most_states` sums have to be looked at, those that promise least are left out, and `bound` says what that can have cost.
std::optional<Division> DivideWorkspace(const std::vector<std::vector<Choice>>& kernels, Bytes total,
                                        std::int64_t most_states = 4'000'000);

}  // namespace spillway::ucudnn

#endif  // SPILLWAY_SIM_STRATEGIES_UCUDNN_WORKSPACE_DIVISION_H_
