#include "scenarios/devices.h"

#include <fmt/format.h>

namespace spillway {
namespace {

constexpr int kMostDevices = 1024;

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const DeviceKind& kind : DeviceKinds()) names.emplace_back(kind.name);
  return names;
}

}  // namespace

const std::vector<DeviceKind>& DeviceKinds() {
  static const std::vector<DeviceKind> kinds = {
      {"cpu", "this machine's processor, by oneDNN", CalibrateCpu, ValidateOnCpu},
      {"cuda", "a GPU of this machine, by CUDA, cuDNN and cuBLAS: cuda:0", CalibrateCuda, ValidateOnCuda},
  };
  return kinds;
}

DeviceChoice DeviceByName(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string base = name.substr(0, colon);
  DeviceChoice choice;
  for (const DeviceKind& kind : DeviceKinds()) {
    if (base == kind.name) choice.kind = &kind;
  }
  if (choice.kind == nullptr) {
    throw UserError(fmt::format("--device: unknown device '{}'{} (one of {})", name, DidYouMean(base, Names()),
                                fmt::join(Names(), ", ")));
  }
  if (colon == std::string::npos) return choice;
  const auto index = ParseInteger(name.substr(colon + 1));
  const bool one_only = base == "cpu";
  if (!index || *index < 0 || *index >= (one_only ? 1 : kMostDevices)) {
    throw UserError(
        fmt::format("--device: expected a device such as {}, found '{}'", one_only ? "cpu" : base + ":0", name));
  }
  choice.index = static_cast<int>(*index);
  return choice;
}

}  // namespace spillway
