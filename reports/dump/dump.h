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

constexpr int kDumpVersion = 1;  // rises when a key changes its meaning or goes

// The point that a dump is of, as results name it.
struct DumpedPoint {
  std::string network;
  std::string machine;
  Bytes capacity = 0;  // device memory to plan with
};

// Every op with its work and its cost under the cost model, every tensor with its bytes and what copying it takes.
std::string StepJson(const TrainingStep& step, const CostModel& costs, const DumpedPoint& point);

// Buffers, streams and instructions of the program simulated. REQUIRES: `evaluation` is feasible and has its timeline.
std::string ProgramJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                        const CostModel& costs, const DumpedPoint& point);

// The decisions with everything that plan files imply, by name and by id.
std::string PlanJson(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_DUMP_DUMP_H_
