// The CUDA device for the verbs, over any CudaCalls: tests give a stand-in.
#ifndef SPILLWAY_SCENARIOS_VERBS_CUDA_DEVICES_H_
#define SPILLWAY_SCENARIOS_VERBS_CUDA_DEVICES_H_

#include <memory>

#include "calibrate/measure/cuda/target.h"
#include "scenarios/verbs/devices.h"

namespace spillway {

// `bench`: how its pace is measured; the protocol is the profile's.
ValidateHost ValidateOnCudaBy(std::shared_ptr<CudaCalls> calls, const CudaBenchOptions& bench, std::uint64_t seed,
                              const Clock& clock);
CalibrateSetup CalibrateCudaBy(std::shared_ptr<CudaCalls> calls, const CudaBenchOptions& options,
                               const CalibrateRequest& request, const Clock& clock);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VERBS_CUDA_DEVICES_H_
