#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <fstream>

#include "calibrate/devices/cuda/plugin/nvml.h"

namespace spillway::cuda {
namespace {

constexpr int kDefault = 0, kPreferred = 1;  // MPOL_... of linux/mempolicy.h

}  // namespace

int NumaNodeOf(const std::string& pci_bus) {
  std::string name = pci_bus;  // sysfs has small letters
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  std::ifstream file("/sys/bus/pci/devices/" + name + "/numa_node");
  int node = -1;
  file >> node;
  return file ? node : -1;
}

PreferNode::PreferNode(int node) {
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
  if (node < 0 || node >= kBits) return;
  const unsigned long mask = 1ul << node;
  set_ = syscall(SYS_set_mempolicy, kPreferred, &mask, kBits + 1) == 0;  // the kernel takes one bit off
}

PreferNode::~PreferNode() {
  if (set_) syscall(SYS_set_mempolicy, kDefault, nullptr, 0);
}

}  // namespace spillway::cuda
