// Whether there is room on the device for a plan, and the Program that it becomes there.
#ifndef SPILLWAY_SIM_PROGRAM_COMPILE_H_
#define SPILLWAY_SIM_PROGRAM_COMPILE_H_

#include <string>

#include "sim/plan/plan.h"
#include "sim/program/program.h"
#include "sim/program/step_tables.h"

namespace spillway {

struct CompiledPlan {
  std::string reason;        // token plus details where there is none
  OpId worst_op = kNoOp;     // as Evaluation has them
  Bytes smallest_limit = 0;  // likewise
  Program program;
  Bytes peak_bytes = 0;     // of an arena: its highest address
  Bytes managed_bytes = 0;  // of unified memory: all there is, on the device and behind it
};

// All need a plan that was checked against the tables' step (CheckPlan).
//
// For each op with everything else moved out ("working_set"); no program. Not asked of unified memory.
CompiledPlan CheckWorkingSets(const Plan& plan, const StepTables& tables, Bytes capacity);
// For all that is live at once ("recomputation", "out_of_memory"), and in an arena for its layout ("fragmentation").
// Whether a pool has room only its simulation tells.
CompiledPlan CompileWithin(const Plan& plan, const StepTables& tables, Bytes capacity);

// "the end of the step" for kNoOp
std::string NameOfOp(const TrainingStep& step, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_COMPILE_H_
