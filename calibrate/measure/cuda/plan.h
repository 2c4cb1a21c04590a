// What a calibration of a GPU measures (calibrate/measure/plan.h), the most useful first: pinned copies; host calls; the
// launches of ResNet-50 in fp32, every algorithm; the same in TF32; copies beside them; then those of other networks (calibrate/measure/cuda/grid.h),
// each in fp32 and TF32 before the next.
#ifndef SPILLWAY_CALIBRATE_MEASURE_CUDA_PLAN_H_
#define SPILLWAY_CALIBRATE_MEASURE_CUDA_PLAN_H_

#include <string>
#include <vector>

#include "calibrate/measure/plan.h"

namespace spillway {

// Pinned copies from 256 B to 1 GiB in both directions and together; of the group `memory` ordinary memory, rows that lie
// apart, copies on the device; of the group `managed` prefetched memory and memory that comes by faults; the calls of CudaHostCallNames(); fp32 and TF32 apart.
BenchPlanOptions CudaPlanOptions(bool quick);

// "resnet50:64": first unless the user names others.
std::vector<std::string> CudaUsualNetworks();

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_CUDA_PLAN_H_
