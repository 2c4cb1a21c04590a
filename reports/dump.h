// A step, a program or a plan as JSON, so that planners and plots can be written in other languages. The format is
// described in reports/dump.md; whoever changes the meaning of a key or takes one away raises the version.
//
// Times are whole nanoseconds, sizes bytes, ids indices into the list that they name.
#ifndef SPILLWAY_REPORTS_DUMP_H_
#define SPILLWAY_REPORTS_DUMP_H_

#include <string>

#include "model/cost/cost_model.h"
#include "sim/evaluate.h"
#include "sim/plan/plan.h"

namespace spillway {

constexpr int kDumpVersion = 1;

// What is dumped, as results name it.
struct DumpedPoint {
  std::string network;
  std::string machine;
  Bytes capacity = 0;  // device memory to plan with
};

// Every op with its work and its cost under the cost model, every tensor with its bytes and what copying it takes.
std::string StepJson(const TrainingStep& step, const CostModel& costs, const DumpedPoint& point);

// Buffers, streams and instructions of what was simulated. `evaluation` is feasible and has its timeline.
std::string ProgramJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                        const CostModel& costs, const DumpedPoint& point);

// The decisions with everything that plan files imply, by name and by id.
std::string PlanJson(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_DUMP_H_
