// NVIDIA's management library, looked up at run time: its header is not part of every toolkit, and it may be absent.
// Reads only; nothing here changes a clock. Private to calibrate/devices/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_NVML_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_NVML_H_

#include <string>

#include "calibrate/devices/cuda/calls.h"

namespace spillway::cuda {

class Nvml {
 public:
  explicit Nvml(const std::string& pci_bus);  // as in CudaProperties
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string DriverVersion() const;  // "" without the library
  CudaClocks Clocks() const;          // -1 and "" likewise

 private:
  template <typename Function>
  Function* Find(const char* name) const;

  void* library_ = nullptr;
  void* device_ = nullptr;
};

// What a mask of NVML's clock throttle reasons says, as CudaClocks has it: "" where nothing holds the clocks back; where
// no setting limits them.
std::string ThrottleText(unsigned long long reasons);
std::string LimitText(unsigned long long reasons);

// ---- Host memory near a device. Private to calibrate/devices/cuda/plugin/.

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

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_NVML_H_
