// A step, a program or a plan as JSON, so that planners and plots can be written in other languages.
//
// reports/dump/README.md describes the format. Times are whole nanoseconds, sizes bytes, ids indices into the list that
// they name. Every text ends with a line feed; equal inputs give equal bytes.
//
// Tested by cli_dump_test and dump_example_test.
#ifndef SPILLWAY_REPORTS_DUMP_DUMP_H_
#define SPILLWAY_REPORTS_DUMP_DUMP_H_

#include <string>

#include "model/cost/cost_model.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/plan.h"

namespace spillway {

constexpr int kDumpVersion = 1;  // rises when a key is removed or changes its meaning

// The point of a run that a dump describes, with the names that result tables use.
struct DumpedPoint {
  std::string network;
  std::string machine;
  Bytes capacity = 0;  // device memory to plan with
};

// The step: every op with its work and its cost under the cost model, every tensor with its bytes and its copy times.
std::string StepJson(const TrainingStep& step, const CostModel& costs, const DumpedPoint& point);

// The program that was simulated: its buffers, streams and instructions. REQUIRES: `evaluation` is feasible and has its
// timeline.
std::string ProgramJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                        const CostModel& costs, const DumpedPoint& point);

// The plan: its decisions with all defaults written out, tensors and ops both by name and by id.
std::string PlanJson(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_DUMP_DUMP_H_
