#include "calibrate/run/cuda/plugin/kernel.h"

namespace spillway::cuda {

void Kernel::Run(CudaStream* stream, const CudaArguments& arguments) {
  try {
    libraries_->Use(reinterpret_cast<cudaStream_t>(stream));
    Launch(arguments);
  } catch (const DeviceError& error) {
    throw DeviceError(error.fault(), error.instruction(), text_ + ": " + error.what());
  }
}

}  // namespace spillway::cuda
