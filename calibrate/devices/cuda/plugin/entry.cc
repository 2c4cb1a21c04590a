#include "calibrate/devices/cuda/plugin/runtime_calls.h"
#include "calibrate/devices/cuda/plugin_entry.h"

namespace spillway::cuda {
namespace {

[[noreturn]] void NoDevice(const std::string& why) {
  throw DeviceError(Fault::kFailed, kNoInstruction, "no CUDA device" + why);
}

void CheckDevice(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    int driver = 0;
    static_cast<void>(cudaDriverGetVersion(&driver));
    const std::string supports = driver == 0 ? "no driver was found" : "the driver supports " + CudaVersionText(driver);
    NoDevice(": " + StatusText(status) + "; built for CUDA " + CudaVersionText(CUDART_VERSION) + ", " + supports);
  }
  if (device >= 0 && device < count) return;
  const std::string last = count < 2 ? "" : " to " + std::to_string(count - 1);
  NoDevice(" " + std::to_string(device) + ": there are " + std::to_string(count) +
           (count == 0 ? "" : ", counted from 0" + last));
}

}  // namespace
}  // namespace spillway::cuda

extern "C" __attribute__((visibility("default"))) int SpillwayCudaInterface() { return SPILLWAY_CUDA_INTERFACE; }

extern "C" __attribute__((visibility("default"))) void SpillwayMakeCudaCalls(
    int device, const spillway::cuda::PluginHost& host, std::shared_ptr<spillway::CudaCalls>& calls) {
  spillway::cuda::CheckDevice(device);
  calls = std::make_shared<spillway::cuda::RuntimeCalls>(device, host);
}
