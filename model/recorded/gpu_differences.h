// What a GPU's memory takes that a recording of a CPU does not show, and the other way round: a table with sources.
//
// Tested by gpu_differences_test and cli_step_test.
#ifndef SPILLWAY_MODEL_RECORDED_GPU_DIFFERENCES_H_
#define SPILLWAY_MODEL_RECORDED_GPU_DIFFERENCES_H_

#include <string>
#include <vector>

#include "model/recorded/footprint.h"

namespace spillway {

// Bytes more at each op, more at updates, perhaps more at some op, perhaps less at the peak.
struct GpuDifference {
  std::string what;
  Bytes whole_step = 0, update = 0, maybe = 0, less = 0;
  std::string source;
};
// Of this recording; empty where a GPU ran it.
std::vector<GpuDifference> DifferencesOnGpu(const RecordedStep& recorded);

// Between these bytes the peak in core lies on a GPU. Both are the recording's where a GPU ran it.
struct GpuPeak {
  Bytes low = 0, high = 0;
};
GpuPeak PeakOnGpu(const RecordedStep& recorded, const Footprint& footprint);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_GPU_DIFFERENCES_H_
