// Splits the difference between a predicted and a measured step by cause.
//
//   predicted kernels / their measured spans      taken apart by where the prediction comes from, and into
//     predicted / isolated                        the cost model: the same launches by themselves
//     isolated / measured spans                   the context: what the step around them changes
//   predicted copies / their measured spans       the link's curves and what copies take from each other
//   replay / measured                             the simulator: the same step with the measured spans, nothing else
//   gaps                                          the device: time between being able to run and running
//
// Tested by validate_split_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_SPLIT_H_
#define SPILLWAY_CALIBRATE_VALIDATE_SPLIT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/validate/measure.h"
#include "calibrate/validate/results.h"
#include "sim/execute/execute.h"

namespace spillway {

// ---- Isolated kernels: the times of a step's launches when nothing else runs.
//
// A predicted time and a span in a step differ for two reasons: errors of the cost model, and the context of the step
// (caches, copies, clocks). Measuring every launch alone, now, on the same device, separates them.
//
// Each distinct launch runs a few times in a row on its own operands. The first run is dropped, and the median counts.
// Operands are therefore in the caches as far as they fit, which they mostly are not in a step.

// A Program that runs each launch of `program` `repeats` times in a row, one launch after the other, on one stream. The
// launches are the same rows. Every launch starts at address 0: the arena is as large as the largest one needs.
Program IsolatedProgram(const Program& program, int repeats);

struct IsolatedTimes {
  std::vector<Launch> launches;
  std::vector<Nanos> times;  // the median of each launch
  std::optional<Failure> failure;
  // The times by row of Program::launches; 0 for launches that were not measured.
  std::vector<Nanos> For(const Program& program) const;
};
IsolatedTimes MeasureIsolated(const Program& program, const TrainingStep& step, ExecutionDevice& device,
                              const Clock& clock, int repeats = 6, StepValues* values = nullptr);

// Sums of predicted times and of measured spans over the same instructions.
struct PredictedMeasured {
  Nanos predicted = 0, measured = 0;
  double Ratio() const;  // predicted / measured; 0 if nothing was measured
};

struct SplitSums {
  PredictedMeasured kernels, seen, modelled, copies;
  // Kernels of forward, of recomputation, and of backward with the update.
  PredictedMeasured forward, recomputed, backward;
  PredictedMeasured isolated;  // predicted and isolated times, over kernels with an isolated time
  PredictedMeasured context;   // isolated times and spans in the step, over the same kernels
  Nanos replayed = 0;          // makespan of the replay
  Nanos gaps = 0;              // UnexplainedGaps
  Nanos step = 0;              // the measured step
};

// `predicted`: durations of the Program's instructions without contention. A kernel is seen if its cost says that this
// very launch was measured ("measured"), else modelled.
// `isolated`: times by row of the Program's launches, 0 where there is none (IsolatedTimes::For); may be empty.
// REQUIRES: spans of every kernel and copy.
SplitSums SumUp(const Program& program, const CostModel& costs, const Timeline& measured,
                std::span<const Nanos> isolated = {});

// Medians over the measured steps of each ratio. REQUIRES: a measurement without failure.
ErrorSplit SplitError(const Program& program, const CostModel& costs, const Measurement& measurement,
                      const IsolatedTimes& isolated = {});

// The time during which the first compute stream stood still with nothing to wait for: summed over its kernels, the
// start minus the moment at which the stream and all awaited events were ready.
Nanos UnexplainedGaps(const Program& program, const Timeline& measured);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_SPLIT_H_
