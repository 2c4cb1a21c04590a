#include "calibrate/devices/cuda/plugin/nvml.h"

#include <dlfcn.h>

#include <array>
#include <span>

namespace spillway::cuda {
namespace {

// From the NVML API reference: functions return 0 for success; clock types 1 (multiprocessors) and 2 (memory); sensor 0
// is the chip; power is in milliwatts.
using Init = int();
using Shutdown = int();
using GetHandle = int(const char*, void**);
using GetClock = int(void*, unsigned, unsigned*);
using GetTemperature = int(void*, unsigned, unsigned*);
using GetPower = int(void*, unsigned*);
using GetReasons = int(void*, unsigned long long*);
using GetText = int(char*, unsigned);

struct Reason {
  unsigned long long bit;
  const char* text;
};
// Not listed: 1, the device is idle.
constexpr std::array<Reason, 4> kThrottles = {
    {{0x8, "hardware slowdown"}, {0x20, "temperature"}, {0x40, "hardware temperature"}, {0x80, "power brake"}}};
// How the device is set up: so it runs under any such load.
constexpr std::array<Reason, 4> kSettings = {
    {{0x2, "application clocks"}, {0x4, "power cap"}, {0x10, "sync boost"}, {0x100, "display clocks"}}};

std::string TextOf(std::span<const Reason> known, unsigned long long reasons) {
  std::string text;
  for (const Reason& reason : known) {
    if ((reasons & reason.bit) != 0) text += (text.empty() ? "" : " and ") + std::string(reason.text);
  }
  return text;
}

}  // namespace

std::string ThrottleText(unsigned long long reasons) { return TextOf(kThrottles, reasons); }
std::string LimitText(unsigned long long reasons) { return TextOf(kSettings, reasons); }

template <typename Function>
Function* Nvml::Find(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library_, name));
}

Nvml::Nvml(const std::string& pci_bus) : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  auto* const init = Find<Init>("nvmlInit_v2");
  auto* const get_handle = Find<GetHandle>("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || get_handle == nullptr || init() != 0) {
    if (library_ != nullptr) dlclose(library_);
    library_ = nullptr;
  } else if (get_handle(pci_bus.c_str(), &device_) != 0) {
    device_ = nullptr;
  }
}

Nvml::~Nvml() {
  if (library_ == nullptr) return;
  if (auto* const shutdown = Find<Shutdown>("nvmlShutdown")) shutdown();
  dlclose(library_);
}

std::string Nvml::DriverVersion() const {
  auto* const get = Find<GetText>("nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  return get != nullptr && get(text.data(), text.size() - 1) == 0 ? text.data() : "";
}

CudaClocks Nvml::Clocks() const {
  CudaClocks clocks;
  if (device_ == nullptr) return clocks;
  unsigned value = 0;
  const auto take = [&](int status, unsigned divisor) { return status == 0 ? static_cast<int>(value / divisor) : -1; };
  if (auto* const get = Find<GetClock>("nvmlDeviceGetClockInfo")) {
    clocks.sm_mhz = take(get(device_, 1, &value), 1);
    clocks.memory_mhz = take(get(device_, 2, &value), 1);
  }
  if (auto* const get = Find<GetTemperature>("nvmlDeviceGetTemperature")) {
    clocks.temperature = take(get(device_, 0, &value), 1);
  }
  if (auto* const get = Find<GetPower>("nvmlDeviceGetPowerUsage")) clocks.watts = take(get(device_, &value), 1000);
  unsigned long long reasons = 0;
  auto* const get = Find<GetReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  if (get != nullptr && get(device_, &reasons) == 0) {
    clocks.throttled = ThrottleText(reasons);
    clocks.limited = LimitText(reasons);
  }
  return clocks;
}

}  // namespace spillway::cuda
