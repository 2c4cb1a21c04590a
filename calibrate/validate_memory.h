// What this process takes of the machine's memory, to be compared with what was predicted.
#ifndef SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_
#define SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_

#include <string_view>

#include "hw/units.h"

namespace spillway {

class ProcessMemory {
 public:
  virtual ~ProcessMemory() = default;
  // -1: the system does not say.
  virtual Bytes Resident() = 0;
  // The most since StartPeak(), or since the process began where the system knows no other.
  virtual Bytes Peak() = 0;
  virtual void StartPeak() = 0;
};

// From /proc/self (Linux: VmRSS, VmHWM; proc(5)).
class OwnProcessMemory : public ProcessMemory {
 public:
  Bytes Resident() override;
  Bytes Peak() override;
  void StartPeak() override;
};

// The bytes behind `key` in the text of /proc/self/status ("VmHWM:    1234 kB"); -1 if there are none.
Bytes StatusBytes(std::string_view status, std::string_view key);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_MEMORY_H_
