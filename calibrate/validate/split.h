// Where the difference between a predicted and a measured step comes from.
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

// ---- Kernels by themselves: what the launches of a step take when nothing else happens.
//
// Between a predicted time and a span measured in a step lie two things: what the cost model gets wrong about the launch,
// and what the step around it changes: caches, copies, clocks. Measuring every launch alone, now, on the same device,
// tells them apart.
//
// Each distinct launch is run a few times in a row on operands of its own; the first run is dropped, the median counts.
// So operands are as far in the caches as they fit there, which in a step they mostly are not.

// A Program that runs each launch of `program` `repeats` times in a row, one launch after the other, on one stream. The
// launches are the same rows. Every launch starts at address 0: the arena is as large as the largest one needs.
Program IsolatedProgram(const Program& program, int repeats);

struct IsolatedTimes {
  std::vector<Launch> launches;
  std::vector<Nanos> times;  // of each: medians
  std::optional<Failure> failure;
  // By row of the launches of a Program; 0 for those that were not measured.
  std::vector<Nanos> For(const Program& program) const;
};
IsolatedTimes MeasureIsolated(const Program& program, const TrainingStep& step, ExecutionDevice& device,
                              const Clock& clock, int repeats = 6, StepValues* values = nullptr);

// Sums of predicted times and of measured spans over the same instructions.
struct PredictedMeasured {
  Nanos predicted = 0, measured = 0;
  double Ratio() const;  // 0 where nothing was measured
};

struct SplitSums {
  PredictedMeasured kernels, seen, modelled, copies;
  // Kernels: of the forward pass, again, of the backward pass and the update, which comes behind it.
  PredictedMeasured forward, recomputed, backward;
  PredictedMeasured isolated;  // predicted against isolated, of kernels for which there is such a time
  PredictedMeasured context;   // isolated against measured spans, of the same
  Nanos replayed = 0;          // makespan
  Nanos gaps = 0;
  Nanos step = 0;  // measured
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

// How long the first compute stream stood still although the host had issued nothing to wait for any more: its kernels'
// starts less the moments at which the stream before them and all events were ready, summed.
Nanos UnexplainedGaps(const Program& program, const Timeline& measured);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_SPLIT_H_
