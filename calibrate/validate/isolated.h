// Kernels by themselves: what the launches of a step take when nothing else happens.
//
// Between a predicted time and a span measured in a step lie two things: what the cost model gets wrong about the launch,
// and what the step around it changes: caches, copies, clocks. Measuring every launch alone, now, on the same device,
// tells them apart.
//
// Each distinct launch is run a few times in a row on operands of its own; the first run is dropped, the median counts.
// So operands are as far in the caches as they fit there, which in a step they mostly are not.
//
// Tested by validate_isolated_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_ISOLATED_H_
#define SPILLWAY_CALIBRATE_VALIDATE_ISOLATED_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "calibrate/run/execute.h"

namespace spillway {

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

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_ISOLATED_H_
