// Plan -> Program. The only place that knows how decisions become streams and buffers; events come from `Synchronise`.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/program/program.h"
#include "sim/program/step_tables.h"
#include "sim/program/synchronise.h"

namespace spillway {

// A plan whose recomputations pass on what they come by, freed and computed again for the next, can take a time that is
// exponential in the joins of the network. Lowering gives up where more forward ops run again than so many times all there
// are.
constexpr std::int64_t kRecomputeLimit = 16;
constexpr Bytes kEndlessBytes = std::numeric_limits<Bytes>::max() / 4;

struct Lowered {
  // Given up at kRecomputeLimit, at `op`: no Program, and of every op kEndlessBytes are said to be live.
  bool Endless() const { return list_peak >= kEndlessBytes; }

  // The bytes live in list order at their most, and the op that runs then. No layout can need less.
  Bytes list_peak = 0;
  OpId op = kNoOp;
  std::vector<Bytes> live_at;  // by op: the same while it runs, its workspace included
  Program program;             // without offsets
  Skeleton skeleton;           // of LowerItems: what `program` will be made of, which has no code yet
};

// `live_limit` (arena runtimes only; 0 = unlimited): swap-ins are issued as early as the plan and the bytes live in list
// order allow. A pool runtime issues them where the plan says.
// REQUIRES: the plan was checked against the step (CheckPlan).
Lowered Lower(const Plan& plan, const StepTables& tables, Bytes live_limit);
// The same before it is synchronised, for who will place its buffers (PlaceBuffers) and may have to lower it again.
Lowered LowerItems(const Plan& plan, const StepTables& tables, Bytes live_limit);
// Lowered::live_at of LowerItems(plan, tables, 1) alone, in a fraction of the time: nothing is written down.
// REQUIRES: a plan that recomputes nothing, and as Lower.
std::vector<Bytes> LiveAt(const Plan& plan, const StepTables& tables);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_H_
