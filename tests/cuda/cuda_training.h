// Trains networks on the CUDA device over the stand-in.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_TRAINING_H_
#define SPILLWAY_TESTS_CUDA_CUDA_TRAINING_H_

#include "calibrate/devices/cuda/device.h"
#include "tests/cpu_training.h"
#include "tests/cuda/cuda_stand_in.h"

namespace spillway {

// As Train() of cpu_training.h.
inline Trained TrainCuda(const CpuCase& c, const Program& program, ExecuteOptions options = {},
                         StandInOptions stand_in = {}, const CudaDeviceOptions& cuda_options = {}) {
  CudaStandIn cuda(std::move(stand_in));
  TrainingValues values(c.step, cuda_options.seed);
  options.values = &values;
  Trained trained;
  {
    CudaDevice device(cuda_options, cuda, cuda);
    trained.result = Execute(program, &c.step, device, cuda, options);
    trained.losses = device.losses();
    trained.statistics = device.running_statistics();
  }
  for (std::size_t t = 0; t < c.step.tensors.size(); ++t) {
    const std::vector<std::byte>& bytes = values.Result(static_cast<TensorId>(t));
    if (!bytes.empty()) trained.tensors[c.step.tensors[t].name] = bytes;
  }
  CHECK(cuda.leaks() == "");
  CHECK(cuda.violations() == std::vector<std::string>{});
  return trained;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_TRAINING_H_
