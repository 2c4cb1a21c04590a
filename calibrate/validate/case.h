// One case of a validation: plans of one step within one memory limit run on a device, and are compared with
// predictions.
//
//   1. Each plan trains for two iterations in a debug session. This shows if it keeps to its memory and computes what
//      in-core training computes.
//   2. Every launch is measured alone (calibrate/validate/split.h).
//   3. All plans are measured together (calibrate/validate/measure.h), and with them the in-core step, in an arena as
//      large as it needs.
//
// Tested by validate_case_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_CASE_H_
#define SPILLWAY_CALIBRATE_VALIDATE_CASE_H_

#include <functional>
#include <string>
#include <vector>

#include "calibrate/validate/measure.h"
#include "calibrate/validate/memory.h"
#include "calibrate/validate/results.h"
#include "model/samples/sample.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

// A plan that takes part. An infeasible one (evaluation.feasible) becomes a row that says why.
struct Contender {
  std::string name;
  std::string stratum;  // of a random plan
  bool random = false;
  const Plan* plan = nullptr;
  const Evaluation* evaluation = nullptr;  // on an arena, under the costs of the case
  // The plan's step, if it differs from the case's: the case's step in micro-batches (model/step/accumulate.h). Its
  // numerical results are compared with those of the whole batch, unless micro-batches change them.
  const TrainingStep* step = nullptr;
};

struct CaseSetup {
  const TrainingStep& StepOf(const Contender& contender) const {
    return contender.step != nullptr ? *contender.step : *step;
  }

  const TrainingStep* step = nullptr;
  const CostModel* costs = nullptr;
  Bytes capacity = 0;
  std::vector<Contender> contenders;
};

struct CaseOptions {
  int steps = 20, rounds = 5;
  std::uint64_t seed = 1;
  ProcessMemory* memory = nullptr;         // nullptr: process memory is not measured
  std::function<void()> progress = [] {};  // called CaseSessions() times, or fewer
  // Called between rounds, with no session open; `end` is true before the first round and after the last.
  std::function<void(bool end)> between = [](bool) {};
  std::function<void()> beside = [] {};  // MeasureOptions::beside; called with no session open
  // Called once everything is measured. Returns the costs with which predictions and spans are compared; nullptr: the
  // setup's.
  std::function<const CostModel*()> settled = [] { return nullptr; };
};
int CaseSessions(const CaseSetup& setup, const CaseOptions& options);

// A measured plan: its predicted timeline, by the costs that its row is compared with, and the timelines of the device.
struct ObservedStep {
  Program program;                 // with the algorithms that ran
  Timeline predicted;              // with memory changes; its makespan is the row's `predicted`
  std::vector<Timeline> measured;  // instrumented, by round; empty: nothing was measured
  const Timeline& Usual() const;   // the measured timeline with the median time. REQUIRES: at least one
};

struct CaseResult {
  std::vector<ValidationRow> rows;  // in order of contenders
  // By contender: times of launches and copies while steps ran (step_costs.h); empty if nothing was measured.
  std::vector<std::vector<Sample>> steps;
  std::vector<ObservedStep> observed;  // by contender; empty if nothing was measured, and for random plans
  Bytes reserve = -1;  // the largest SessionReport::device_reserve of all training sessions; -1: unknown
  double in_core = 0, in_core_predicted = 0;
  ErrorSplit in_core_split;
  std::vector<std::string> notes;
  std::string no_memory;  // the message of the first contender for which memory did not suffice, with its name
};

// Runs the case. A failure (a kernel that the library refuses, missing memory) goes into the contender's row, and the
// other contenders are still measured. A failure of the in-core step becomes a note. `clock` is the device's. Throws
// what Execute() passes on.
CaseResult RunCase(const CaseSetup& setup, ExecutionDevice& device, const Clock& clock, const CaseOptions& options);
// The result of a case whose device cannot be opened: every row fails with the reason `why`.
CaseResult FailedCase(const CaseSetup& setup, const std::string& why);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_CASE_H_
