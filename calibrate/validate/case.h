// One case of a validation: plans of one step within one memory limit, carried out on a device and compared with what
// was predicted.
//
// First each plan trains for two iterations in a debug session, which shows whether it keeps to its memory and computes
// what in-core training computes; then every launch is measured by itself (calibrate/validate/split.h); then all plans
// are measured together (calibrate/validate/measure.h), and with them the step in-core, in an arena as large as it takes.
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
  // That the plan is of, where it is not the case's: the same in batch parts (model/step/accumulate.h). Its numbers are
  // compared with those of the whole batch, unless parts change them.
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
  ProcessMemory* memory = nullptr;         // nullptr: process memory is not looked at
  std::function<void()> progress = [] {};  // called CaseSessions() times, or less
  // Between the rounds in which plans are measured, when no session is open; `end`: before the first or behind the last.
  std::function<void(bool end)> between = [](bool) {};
  std::function<void()> beside = [] {};  // MeasureOptions::beside; no session is open either
  // Asked once all is measured: costs that predictions and measured spans are compared by; nullptr: those of the setup.
  std::function<const CostModel*()> settled = [] { return nullptr; };
};
int CaseSessions(const CaseSetup& setup, const CaseOptions& options);

// A measured plan: as it was predicted by the costs that its row is held to, and as the device ran it.
struct ObservedStep {
  Program program;                 // by the algorithms that ran
  Timeline predicted;              // with whose memory changed; its makespan is the row's `predicted`
  std::vector<Timeline> measured;  // with instruments, by round; none: nothing was measured
  const Timeline& Usual() const;   // of these the one of the median time. REQUIRES: any
};

struct CaseResult {
  std::vector<ValidationRow> rows;  // in order of contenders
  // What their launches and copies took while steps ran (step_costs.h); empty where nothing was measured.
  std::vector<std::vector<Sample>> steps;
  std::vector<ObservedStep> observed;  // likewise; of random plans empty, too
  Bytes reserve = -1;  // SessionReport::device_reserve, the most of all sessions that trained; -1: nobody tells
  double in_core = 0, in_core_predicted = 0;
  ErrorSplit in_core_split;
  std::vector<std::string> notes;
  std::string no_memory;  // of the first contender that there was not enough for, with its name
};

// Whatever fails is the row's, and the others are measured: a kernel that the library refuses, memory that is not there. A
// failure of in-core is a note. `clock`: of the device. Throws what Execute() passes on.
CaseResult RunCase(const CaseSetup& setup, ExecutionDevice& device, const Clock& clock, const CaseOptions& options);
// A case that cannot begin, as its device cannot be had: rows that fail with `why`.
CaseResult FailedCase(const CaseSetup& setup, const std::string& why);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_CASE_H_
