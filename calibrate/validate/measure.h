// Step times and spans of several Programs on one device, fairly: whatever else the machine does meanwhile hits all of
// them alike.
//
// Measuring goes in rounds. In each round every Program has a session of a few steps without instruments, and in some
// rounds another one of a single step with them, in an order drawn anew; the first step of each session is run and not
// counted. Step times come from the former, spans from the latter.
//
// Tested by validate_measure_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_MEASURE_H_
#define SPILLWAY_CALIBRATE_VALIDATE_MEASURE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/ops/values.h"
#include "calibrate/validate/results.h"
#include "model/cost/cost_model.h"
#include "model/stats/statistics.h"
#include "sim/execute/execute.h"

namespace spillway {

// One Program to be measured. What it points to must outlive the measurement.
struct TimedProgram {
  const Program* program = nullptr;
  const TrainingStep* step = nullptr;
  Bytes arena_bytes = 0;         // 0: as many as the Program needs
  StepValues* values = nullptr;  // of this step; nullptr: zeros
};

struct Measurement {
  Rounds step_times;                // nanoseconds, by round
  std::vector<double> step_clocks;  // megahertz of the device in those steps; empty: not told
  std::vector<Nanos> moments;       // by round: the middle of the session that the step times are of
  std::vector<Timeline> timelines;  // one for each round with instruments
  std::optional<Failure> failure;   // then it is measured no further
};

struct MeasureOptions {
  int steps = 20;  // of each Program, at least; spread over the rounds
  int rounds = 5;
  int warm_up = 1;              // of each session
  int instrumented_rounds = 3;  // at most `rounds`: the first ones
  std::uint64_t seed = 1;
  std::function<void()> session_done = [] {};            // called SessionsOf() times, less where something fails
  std::function<void(int rounds)> between = [](int) {};  // before the first round and after each: how many are done
  // Right before and right behind each session without instruments; once between two of them.
  std::function<void()> beside = [] {};
};
// Sessions that measuring one Program takes.
int SessionsOf(const MeasureOptions& options);

// By candidate. Throws what Execute() passes on.
std::vector<Measurement> MeasureInterleaved(std::span<const TimedProgram> candidates, ExecutionDevice& device,
                                            const Clock& clock, const MeasureOptions& options);

// Every launch gets the algorithm that its predicted time belongs to, so that what runs is what was predicted: with
// algorithm 0 a library would choose for itself. Launches for which the cost model knows of no choice stay as they are.
void FixAlgorithms(const CostModel& costs, Program& program);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_MEASURE_H_
