#include "scenarios/cli/devices.h"

#include <fmt/format.h>

#include "calibrate/devices/cpu/backend.h"
#include "calibrate/devices/cuda/backend.h"
#include "hw/text/lists.h"
#include "scenarios/cli/command.h"

namespace spillway {
namespace {

std::unique_ptr<DeviceBackend> MakeCpu(int /*device*/, const Clock& clock) {
  return std::make_unique<CpuBackend>(Version(), clock);
}

std::unique_ptr<DeviceBackend> MakeCuda(int device, const Clock& clock) {
  CudaBenchOptions bench;
  bench.device = device;
  bench.version = Version();
  return std::make_unique<CudaBackend>(bench, clock);
}

}  // namespace

const std::vector<DeviceKind>& DeviceKinds() {
  static const std::vector<DeviceKind> kinds = {
      {"cpu", 1, MakeCpu},       // this machine's processor, by oneDNN
      {"cuda", 1024, MakeCuda},  // a GPU of this machine, by CUDA, cuDNN and cuBLAS: cuda:0
  };
  return kinds;
}

std::vector<std::string> DeviceWords() {
  std::vector<std::string> words;
  for (const DeviceKind& kind : DeviceKinds()) words.push_back(kind.name + std::string(kind.most == 1 ? "" : ":0"));
  return words;
}

DeviceChoice DeviceByName(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string base = name.substr(0, colon);
  DeviceChoice choice;
  for (const DeviceKind& kind : DeviceKinds()) {
    if (base == kind.name) choice.kind = &kind;
  }
  if (choice.kind == nullptr) {
    throw UserError(fmt::format("--device: unknown device '{}'{} (one of {})", name,
                                DidYouMean(base, NamesOf(DeviceKinds())), fmt::join(NamesOf(DeviceKinds()), ", ")));
  }
  if (colon == std::string::npos) return choice;
  const auto index = ParseInteger(name.substr(colon + 1));
  const int most = choice.kind->most;
  if (!index || *index < 0 || *index >= most) {
    throw UserError(
        fmt::format("--device: expected a device such as {}, found '{}'", most == 1 ? base : base + ":0", name));
  }
  choice.index = static_cast<int>(*index);
  return choice;
}

}  // namespace spillway
