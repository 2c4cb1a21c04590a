#include "scenarios/cli/devices.h"

#include <fmt/format.h>

#include "hw/text/lists.h"

namespace spillway {
const std::vector<DeviceKind>& DeviceKinds() {
  static const std::vector<DeviceKind> kinds = {
      // This machine's processor, by oneDNN.
      {"cpu", 1, CalibrateCpu, ValidateOnCpu, nullptr},
      // A GPU of this machine, by CUDA, cuDNN and cuBLAS: cuda:0.
      {"cuda", 1024, CalibrateCuda, ValidateOnCuda, ProbeOnCuda},
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
