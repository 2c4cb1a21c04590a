// Where program and plugin meet: what the program looks up in libspillway_cuda.so, and what it lends to it.
#ifndef SPILLWAY_CALIBRATE_CUDA_PLUGIN_ENTRY_H_
#define SPILLWAY_CALIBRATE_CUDA_PLUGIN_ENTRY_H_

#include <memory>
#include <string>

#include "calibrate/cuda/calls.h"

namespace spillway::cuda {

// What the plugin uses of the program: it links none of its libraries.
struct PluginHost {
  std::string (*launch_text)(const Launch& launch) = nullptr;  // how errors name an op
};

// Goes up whenever calls.h, op_call.h or this file changes in what program and plugin exchange.
inline constexpr int kInterface = 3;
using InterfaceFunction = int();  // "SpillwayCudaInterface": the plugin's kInterface
// "SpillwayMakeCudaCalls". Throws DeviceError: no driver, no such device.
using MakeFunction = void(int device, const PluginHost& host, std::shared_ptr<CudaCalls>& calls);

}  // namespace spillway::cuda

#endif  // SPILLWAY_CALIBRATE_CUDA_PLUGIN_ENTRY_H_
