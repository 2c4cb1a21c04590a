// What this process takes of the machine's memory, to be compared with what was predicted.
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
  // What is in memory now, without what the allocator keeps for later. -1: the system does not say.
  virtual Bytes Resident() = 0;
  // The most since StartPeak(); what is resident now where the system cannot tell.
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
  bool told_ = false;  // the system starts anew where it is asked to
};

// What one session takes of the process: the most that is resident while steps run, less what was resident before.
// What the caller holds between steps to bring and take values is not in it.
class SessionMemoryWatch : public ForwardingDevice {
 public:
  // Looks at what is resident now. Both must outlive this.
  SessionMemoryWatch(ExecutionDevice& device, ProcessMemory& memory)
      : ForwardingDevice(device), memory_(memory), before_(memory.Resident()) {}
  void BeginStep() override;
  void EndStep() override;
  Bytes Growth() const;  // of all steps so far; -1: the system does not say, or there were none

 private:
  ProcessMemory& memory_;
  Bytes before_, most_ = -1;
};

// The bytes behind `key` in the text of /proc/self/status ("VmHWM:    1234 kB"); -1 if there are none.
Bytes StatusBytes(std::string_view status, std::string_view key);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_
