// Host memory near a device. Private to calibrate/run/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_RUN_CUDA_PLUGIN_NEAR_MEMORY_H_
#define SPILLWAY_CALIBRATE_RUN_CUDA_PLUGIN_NEAR_MEMORY_H_

#include <string>

namespace spillway::cuda {

// The NUMA node of a PCI device, as the kernel tells; -1: not known, or there is only one.
int NumaNodeOf(const std::string& pci_bus);

// While it lives, this thread prefers memory of that node for pages it touches first. Does nothing for node -1, or
// where the kernel forbids it (containers).
class PreferNode {
 public:
  explicit PreferNode(int node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  bool set_ = false;
};

}  // namespace spillway::cuda

#endif  // SPILLWAY_CALIBRATE_RUN_CUDA_PLUGIN_NEAR_MEMORY_H_
