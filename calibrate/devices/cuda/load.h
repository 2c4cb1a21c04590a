// The real CUDA libraries, found when they are asked for: the program starts without them.
//
// Everything that needs CUDA is in the plugin libspillway_cuda.so beside the program, which is opened here.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_LOAD_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_LOAD_H_

#include <filesystem>
#include <memory>

#include "calibrate/devices/cuda/calls.h"

namespace spillway {

// Where it is looked for: libspillway_cuda.so in the folder of the running program.
std::filesystem::path CudaPluginFile();

// The calls for device `device`, as CUDA numbers them; they become the calling thread's, which must make all calls.
// Throws a UserError that says what is missing or in the way: a variable of the environment that changes what the libraries
// run (NVIDIA_TF32_OVERRIDE, CUDA_LAUNCH_BLOCKING), the plugin (built without CUDA), a library that it needs, the driver,
// the device.
std::shared_ptr<CudaCalls> MakeCudaCalls(int device);
std::shared_ptr<CudaCalls> MakeCudaCalls(int device, const std::filesystem::path& plugin);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_LOAD_H_
