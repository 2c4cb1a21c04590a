// Measures step times and spans of several Programs on one device in turns, so that other load on the machine affects
// all of them alike.
//
// Measuring goes in rounds. In each round every Program has a session of a few steps without instruments; step times
// come from these. In some rounds it also has a session of one instrumented step, from which spans come. The order of
// sessions is drawn anew in each round. The first step of each session runs and does not count.
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

// One Program to be measured. The objects that it points to must outlive the measurement.
struct TimedProgram {
  const Program* program = nullptr;
  const TrainingStep* step = nullptr;
  Bytes arena_bytes = 0;         // 0: as many as the Program needs
  StepValues* values = nullptr;  // values of this step; nullptr: zeros
};

struct Measurement {
  Rounds step_times;                // nanoseconds, by round
  std::vector<double> step_clocks;  // the device's clock in megahertz in those steps; empty: unknown
  std::vector<Nanos> moments;       // by round: the middle of the session of its step times
  std::vector<Timeline> timelines;  // one for each instrumented round
  std::optional<Failure> failure;   // set: the Program was not measured any further
};

struct MeasureOptions {
  int steps = 20;  // the least number of steps of each Program, spread over the rounds
  int rounds = 5;
  int warm_up = 1;              // steps of each session that do not count
  int instrumented_rounds = 3;  // at most `rounds`: the first ones
  std::uint64_t seed = 1;
  std::function<void()> session_done = [] {};  // called SessionsOf() times, fewer if something fails
  std::function<void(int rounds)> between = [](int) {
  };  // called before the first and after each round: how many are done
  // Called just before and just after each session without instruments; once between two of them.
  std::function<void()> beside = [] {};
};
// The number of sessions that measuring one Program takes.
int SessionsOf(const MeasureOptions& options);

// The measurements, by candidate. Throws what Execute() passes on.
std::vector<Measurement> MeasureInterleaved(std::span<const TimedProgram> candidates, ExecutionDevice& device,
                                            const Clock& clock, const MeasureOptions& options);

// Gives every launch the algorithm of its predicted time, so that the device runs what was predicted. (With algorithm 0
// the library would choose.) Launches without a choice in the cost model stay as they are.
void FixAlgorithms(const CostModel& costs, Program& program);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_MEASURE_H_
