// Where program and plugin meet: what the program looks up in libspillway_cuda.so, and what it lends to it.
//
// They are two files, and one may be left from other sources than the other. What they exchange is said by this header
// and those that it includes; the number of its interface, SPILLWAY_CUDA_INTERFACE, is a hash of all of them
// (cmake/interface.cmake), and both have to have the same. Plugins of before it was a hash have small numbers.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_ENTRY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_ENTRY_H_

#include <memory>
#include <string>

#include "calibrate/devices/cuda/calls.h"

namespace spillway::cuda {

// What the plugin uses of the program: it links none of its libraries.
struct PluginHost {
  std::string (*launch_text)(const Launch& launch) = nullptr;  // how errors name an op
};

using InterfaceFunction = int();  // "SpillwayCudaInterface": the plugin's SPILLWAY_CUDA_INTERFACE
// "SpillwayMakeCudaCalls". Throws DeviceError: no driver, no such device.
using MakeFunction = void(int device, const PluginHost& host, std::shared_ptr<CudaCalls>& calls);

}  // namespace spillway::cuda

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_ENTRY_H_
