// Compiles a plan to a Program that runs within `capacity` bytes of device memory, or tells why it cannot.
//
// An arena's layout needs some bytes more than are ever live, for gaps between buffers (fragmentation). If that goes
// beyond the capacity, the plan is lowered again with less room for prefetching, so that swap-ins come later:
//
//   capacity 16.0 GB     live limit      list peak      layout
//   1st try                16.0 GB        15.9 GB       16.3 GB      0.3 GB too much
//   2nd try                15.7 GB        15.6 GB       15.9 GB      done
#ifndef SPILLWAY_SIM_EVALUATE_COMPILE_H_
#define SPILLWAY_SIM_EVALUATE_COMPILE_H_

#include <string>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"
#include "sim/program/step_tables.h"

namespace spillway {

struct CompiledPlan {
  // Empty: there is a program. Else a token and details: "out_of_memory: the plan needs 41.6 GB at fc:backward".
  std::string reason{};
  OpId worst_op = kNoOp;     // with "working_set": the op that needs most
  Bytes smallest_limit = 0;  // with a reason: bytes with which the step would run; 0: unknown
  Program program{};
  Bytes peak_bytes = 0;     // arena: its highest address
  Bytes managed_bytes = 0;  // unified memory: all addresses, including those beyond the device's memory
};

// REQUIRES of both: the plan was checked against the tables' step (CheckPlan).

// Refuses with "working_set" a plan with an op that has no room even with everything else offloaded, and with the least
// workspace where the library chooses; makes no program.
// Not asked for unified memory.
CompiledPlan CheckWorkingSets(const Plan& plan, const StepTables& tables, Bytes capacity);
// Refuses with
//   "recomputation"   lowering gave up (kRecomputeLimit)
//   "out_of_memory"   more bytes are live at once than there are
//   "fragmentation"   no layout of the live bytes was found within the capacity; arenas only
// Grants are cut where the plan does not fit otherwise, so that an arena's bytes fit as soon as those of a smaller grant
// do (sim/program/lower/grants.h). Does not check whether a pool has room: only the simulation tells that. A pool's
// grants are cut to `room` live bytes in list order, which no pool of `room` bytes can exceed.
CompiledPlan CompileWithin(const Plan& plan, const StepTables& tables, Bytes capacity, Bytes room = kEndlessBytes);

// Names the first launch of the plan that a library would refuse, as a token plus details: "workspace", an algorithm is
// granted less than it wants, "algorithm", the profile has no time of it, or "library_limit", the library does not take
// a tensor of so many elements (model/cost/library_limits.h). Empty where all of them run: a device
// carries launches out as they stand, or not at all. REQUIRES: as above.
std::string UnsupportedLaunch(const Plan& plan, const StepTables& tables, const CostModel& costs);

// "the end of the step" for kNoOp
std::string NameOfOp(const TrainingStep& step, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_COMPILE_H_
