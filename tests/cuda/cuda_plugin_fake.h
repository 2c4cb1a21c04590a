// The CUDA plugin's sources over a fake of the C libraries (cuda_fake_c/), as tests of them use it.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_PLUGIN_FAKE_H_
#define SPILLWAY_TESTS_CUDA_CUDA_PLUGIN_FAKE_H_

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "calibrate/devices/cuda/plugin_entry.h"
#include "sim/execute/device.h"
#include "tests/cuda/fake_c/fake.h"

extern "C" int SpillwayCudaInterface();
extern "C" void SpillwayMakeCudaCalls(int device, const spillway::cuda::PluginHost& host,
                                      std::shared_ptr<spillway::CudaCalls>& calls);

namespace spillway {

inline std::string TextOfKind(const Launch& launch) { return std::string("<") + OpKindName(launch.kind) + ">"; }

inline std::shared_ptr<CudaCalls> MakePlugin(int device = 0) {
  std::shared_ptr<CudaCalls> calls;
  SpillwayMakeCudaCalls(device, {.launch_text = TextOfKind}, calls);
  return calls;
}

// Calls for one test; everything is given back at its end.
class PluginOverFake {
 public:
  PluginOverFake() {
    cuda_fake::TheState() = {};
    calls = MakePlugin();
  }
  ~PluginOverFake() {
    calls.reset();
    CHECK(cuda_fake::TheState().device.empty());
    CHECK(cuda_fake::TheState().host.empty());
    CHECK(cuda_fake::TheState().objects == 0);
  }
  PluginOverFake(const PluginOverFake&) = delete;
  PluginOverFake& operator=(const PluginOverFake&) = delete;
  std::shared_ptr<CudaCalls> calls;
};

inline void FailNext(const char* function, int status) {
  cuda_fake::TheState().fail_function = function;
  cuda_fake::TheState().fail_status = status;
}

// What the call throws.
template <typename Function>
DeviceError ErrorOf(Function function) {
  try {
    function();
  } catch (const DeviceError& error) {
    return error;
  }
  FAIL("no DeviceError");
  return {Fault::kFailed, 0, ""};
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_PLUGIN_FAKE_H_
