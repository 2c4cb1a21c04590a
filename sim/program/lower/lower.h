// Plan -> Program. The only place that knows how decisions become streams and buffers; events come from `Synchronise`.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_LOWER_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_LOWER_H_

#include <cstdint>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/program/program.h"
#include "sim/program/step_tables.h"
#include "sim/program/synchronise.h"

namespace spillway {

// Lowering gives up when it has recomputed so many times as many ops as the step has: temporaries that are freed and
// computed again for each use can take a time exponential in the joins of the network.
constexpr std::int64_t kRecomputeLimit = 16;

struct Lowered {
  // Given up at `op`: there is no Program, and `live_at` says kEndlessBytes of every op.
  bool Endless() const { return list_peak >= kEndlessBytes; }

  Bytes list_peak = 0;         // the most bytes live in list order; no layout can need less
  Bytes counted_peak = 0;      // of counted memory: the same with deferred frees; within the capacity if list_peak is
  OpId op = kNoOp;             // the op that runs then
  std::vector<Bytes> live_at;  // by op: the most bytes live while it runs, its workspace included
  Program program;             // without offsets
  Skeleton skeleton;           // of LowerItems, whose `program` has no code yet: Synchronise makes it from this
};

// Carries out every decision of the plan. `live_limit` in bytes, 0 for none, is for runtimes planned ahead
// (IsPlannedAhead): they issue a swap-in as early as the plan and the live bytes allow. A pool runtime issues it where the
// plan says. A workspace that would make more than `room` bytes live is cut to what is free, where the library chooses:
// it takes another algorithm (lower/grants.h). In counted memory a free behind a copy out is deferred until an allocation
// finds fewer of the `room` bytes than it wants. REQUIRES: the plan was checked against the step (CheckPlan).
Lowered Lower(const Plan& plan, const StepTables& tables, Bytes live_limit, Bytes room = kEndlessBytes);
// The same without Synchronise, for callers that place buffers (PlaceBuffers) and may have to lower the plan again.
Lowered LowerItems(const Plan& plan, const StepTables& tables, Bytes live_limit, Bytes room = kEndlessBytes);
// Only Lowered::live_at of LowerItems(plan, tables, 1), in a fraction of the time: no items are written.
// REQUIRES: as Lower, and the plan recomputes nothing.
std::vector<Bytes> LiveAt(const Plan& plan, const StepTables& tables);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_LOWER_H_
