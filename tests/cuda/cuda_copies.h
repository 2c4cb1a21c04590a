// The CUDA device over the stand-in, with a step of copies to run on it.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_COPIES_H_
#define SPILLWAY_TESTS_CUDA_CUDA_COPIES_H_

#include <catch2/catch.hpp>
#include <string>

#include "calibrate/devices/cuda/device.h"
#include "model/network/network.h"
#include "tests/copy_step.h"
#include "tests/cuda/cuda_stand_in.h"

namespace spillway {

// The copies need no library.
inline StandInOptions Plain() {
  StandInOptions options;
  options.compute = false;
  return options;
}

struct CudaCopies {
  Network network = CopyStep::Net();
  TrainingStep step = CopyStep::Build();
  Counting values;

  ExecuteResult Run(const Program& program, CudaStandIn& cuda, ExecuteOptions options = {},
                    const CudaDeviceOptions& device_options = {}) {
    CudaDevice device(device_options, cuda, cuda);
    options.values = &values;
    return Execute(program, &step, device, cuda, options);
  }
};

inline std::string Says(const ExecuteResult& result) { return result.failure ? result.failure->message : ""; }

// What is wrong with the stand-in's books, when everything should have been given back.
inline std::string Wrong(const CudaStandIn& cuda) {
  std::string text = cuda.leaks();
  for (const std::string& violation : cuda.violations()) text += "; " + violation;
  return text;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_COPIES_H_
