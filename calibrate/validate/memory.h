// The memory that this process uses, measured for comparison with the prediction.
//
// Tested by validate_memory_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_
#define SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_

#include <string_view>

#include "hw/text/units.h"
#include "sim/execute/forwarding_device.h"

namespace spillway {

class ProcessMemory {
 public:
  virtual ~ProcessMemory() = default;
  // Bytes resident now, without memory that the allocator keeps for later. -1: the system does not tell.
  virtual Bytes Resident() = 0;
  // The most bytes resident since StartPeak(); the bytes resident now if the system does not tell the peak.
  virtual Bytes Peak() = 0;
  virtual void StartPeak() = 0;
};

// From /proc/self (Linux: VmRSS, VmHWM; proc(5)).
class OwnProcessMemory : public ProcessMemory {
 public:
  Bytes Resident() override;
  Bytes Peak() override;
  void StartPeak() override;

 private:
  bool told_ = false;  // the system can restart the peak (StartPeak)
};

// Measures the memory of one session: the most bytes resident while steps run, minus the bytes resident before. Memory
// that the caller holds only between steps, to write and read values, does not count.
class SessionMemoryWatch : public ForwardingDevice {
 public:
  // Reads the bytes resident before the session. Both arguments must outlive this.
  SessionMemoryWatch(ExecutionDevice& device, ProcessMemory& memory)
      : ForwardingDevice(device), memory_(memory), before_(memory.Resident()) {}
  void BeginStep() override;
  void EndStep() override;
  Bytes Growth() const;  // over all steps so far; -1: the system does not tell, or no step ran

 private:
  ProcessMemory& memory_;
  Bytes before_, most_ = -1;
};

// The value of `key` in the text of /proc/self/status, in bytes ("VmHWM:    1234 kB"); -1 if there is none.
Bytes StatusBytes(std::string_view status, std::string_view key);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_
