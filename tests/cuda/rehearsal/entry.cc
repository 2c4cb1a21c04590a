// libspillway_cuda.so of a rehearsal: what the program asks of the CUDA plugin (calibrate/devices/cuda/plugin_entry.h).
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "calibrate/devices/cuda/plugin_entry.h"
#include "hw/text/document.h"
#include "tests/cuda/rehearsal/device.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

// hw/h100-sxm.yaml in the folder of this library.
std::string UsualProfile() {
  Dl_info self{};
  static const char here = 0;
  const bool known = dladdr(&here, &self) != 0 && self.dli_fname != nullptr;
  const fs::path file = (known ? fs::path(self.dli_fname).parent_path() : fs::path()) / "hw" / "h100-sxm.yaml";
  if (fs::exists(file)) return file.string();
  throw UserError("the rehearsal's profile is missing (" + file.string() +
                  "); SPILLWAY_REHEARSAL=\"profile=FILE\" names another one");
}

void Make(int device, std::shared_ptr<CudaCalls>& calls) {
  if (device != 0) {
    throw DeviceError(Fault::kFailed, kNoInstruction,
                      "no CUDA device " + std::to_string(device) + ": a rehearsal has one, 0");
  }
  const char* const text = std::getenv("SPILLWAY_REHEARSAL");
  const RehearsalSettings settings = ParseRehearsalSettings(text == nullptr ? "" : text);
  const std::string profile = settings.profile.empty() ? UsualProfile() : settings.profile;
  calls = std::make_shared<RehearsalDevice>(LoadMachine(profile), settings);
}

}  // namespace
}  // namespace spillway

extern "C" __attribute__((visibility("default"))) int SpillwayCudaInterface() { return SPILLWAY_CUDA_INTERFACE; }

extern "C" __attribute__((visibility("default"))) void SpillwayMakeCudaCalls(
    int device, const spillway::cuda::PluginHost& /*host*/, std::shared_ptr<spillway::CudaCalls>& calls) {
  spillway::Make(device, calls);
}
