// A GPU that is not there: the stand-in in real time, as fast as a profile says.
//
// What a program measures on it is that profile, with noise; what its own calls cost the host is real. So the whole of
// `calibrate`, `validate` and calibrate/gpu-run.sh can be carried out where there is no GPU, and what they come to can be
// held against what was put in.
//
// It has the profile's memory (none of it is the host's), multiprocessors, link and bandwidth. Kernels take what the
// profile's cost model says of their launch, convolutions by whatever algorithm that has a model for; TF32 takes what fp32
// takes where there is none for it. Not like a GPU: nothing is computed, kernels on several streams and copies do not slow
// each other down, copies in one direction on two streams run side by side, no code is loaded, clocks stand still.
// Everything it says of itself says that it is a rehearsal.
#ifndef SPILLWAY_TESTS_CUDA_REHEARSAL_DEVICE_H_
#define SPILLWAY_TESTS_CUDA_REHEARSAL_DEVICE_H_

#include <memory>

#include "model/profile/machine.h"
#include "tests/cuda/cuda_stand_in.h"
#include "tests/cuda/rehearsal/settings.h"

namespace spillway {

// Of the profile's first device; `settings.profile` is not looked at.
StandInOptions RehearsalOptions(const Machine& profile, const RehearsalSettings& settings);

// Says on standard error at its end what was done wrong, or not given back.
class RehearsalDevice : public CudaStandIn {
 public:
  RehearsalDevice(const Machine& profile, const RehearsalSettings& settings)
      : CudaStandIn(RehearsalOptions(profile, settings)) {}
  ~RehearsalDevice() override;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_REHEARSAL_DEVICE_H_
