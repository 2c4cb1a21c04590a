#include "model/profile/machine.h"

#include <cassert>

namespace spillway {
namespace {

constexpr Bytes kMemoryStep = 512;  // granularity of UsableMemory, that of the usual device allocators

}  // namespace

const std::vector<std::string>& OperandStateNames() {
  static const std::vector<std::string> kNames{"step", "cold", "warm"};
  return kNames;
}

Bytes Device::UsableMemory() const {
  const double share = pool_fraction * static_cast<double>(total_memory - reserve);
  return static_cast<Bytes>(share) / kMemoryStep * kMemoryStep;
}

const Link& Machine::LinkOf(int device) const {
  for (const Link& link : links) {
    if (link.device == device) return link;
  }
  assert(false && "a valid machine has a link for every device");
  return links.front();
}

}  // namespace spillway
