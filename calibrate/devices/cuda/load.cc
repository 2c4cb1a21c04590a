#include "calibrate/devices/cuda/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "calibrate/devices/cuda/plugin_entry.h"
#include "hw/text/document.h"
#include "model/profile/launch_text.h"
#include "sim/execute/device.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPluginName = "libspillway_cuda.so";
constexpr int kInterface = SPILLWAY_CUDA_INTERFACE;
#ifdef SPILLWAY_CUDA_PLUGIN
constexpr bool kBuilt = true;
#else
constexpr bool kBuilt = false;
#endif

std::string TextOf(const Launch& launch) {
  return std::string(OpKindName(launch.kind)) + " " + PassName(launch.pass) + " " + OpShapeText(launch.shape) +
         FormatText(launch);
}

[[noreturn]] void NoPlugin(const fs::path& plugin) {
  const std::string place = " (no " + std::string(kPluginName) + " in " + plugin.parent_path().string() + ")";
  if (kBuilt) throw UserError("the CUDA device's plugin is missing" + place + "; it belongs beside the program");
  throw UserError("this build has no CUDA device" + place +
                  ": build Spillway where the CUDA toolkit (11 or later, with nvcc) and cuDNN (8 or later) are, "
                  "-DSPILLWAY_CUDA=ON tells what is missing");
}

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// As cmake/interface.cmake writes it: the first seven digits of a hash.
std::string InterfaceText(int interface) { return fmt::format("{:07x}", static_cast<unsigned>(interface)); }

// Never closed: CUDA does not survive it.
cuda::MakeFunction* Load(const fs::path& plugin) {
  std::error_code ignored;
  if (!fs::exists(plugin, ignored)) NoPlugin(plugin);
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) throw UserError("the CUDA device does not load: " + std::string(dlerror()));
  auto* const interface = Find<cuda::InterfaceFunction>(library, "SpillwayCudaInterface");
  auto* const make = Find<cuda::MakeFunction>(library, "SpillwayMakeCudaCalls");
  if (interface == nullptr || make == nullptr) {
    throw UserError(plugin.string() + " is not Spillway's CUDA device: " + std::string(dlerror()));
  }
  if (interface() == kInterface) return make;
  throw UserError(
      fmt::format("{} belongs to another version of Spillway: it has interface {}, this program {}; take the one that "
                  "was built with it",
                  plugin.string(), InterfaceText(interface()), InterfaceText(kInterface)));
}

// Settings of the libraries that change what runs, whatever a call asks for.
void RefuseOverrides() {
  for (const char* const name : {"NVIDIA_TF32_OVERRIDE", "CUDA_LAUNCH_BLOCKING"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    throw UserError(
        fmt::format("{}={} is set in the environment: it changes what the CUDA device runs, so that times "
                    "would not be those of a profile; unset it",
                    name, value));
  }
}

}  // namespace

fs::path CudaPluginFile() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return (error ? fs::current_path() : program.parent_path()) / kPluginName;
}

std::shared_ptr<CudaCalls> MakeCudaCalls(int device) { return MakeCudaCalls(device, CudaPluginFile()); }

std::shared_ptr<CudaCalls> MakeCudaCalls(int device, const fs::path& plugin) {
  RefuseOverrides();
  cuda::MakeFunction* const make = Load(plugin);
  std::shared_ptr<CudaCalls> calls;
  try {
    make(device, {.launch_text = TextOf}, calls);
  } catch (const DeviceError& error) {
    throw UserError(error.what());
  }
  return calls;
}

}  // namespace spillway
