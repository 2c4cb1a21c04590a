// The devices that `calibrate` measures, `validate` runs on and `probe` looks at: one line of a table each.
//
// To add one: calibrate/devices/backend.h says how, and a line in devices.cc.
#ifndef SPILLWAY_SCENARIOS_CLI_DEVICES_H_
#define SPILLWAY_SCENARIOS_CLI_DEVICES_H_

#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/backend.h"

namespace spillway {

struct DeviceKind {
  const char* name;  // "cpu", "cuda"
  int most;          // of them in one machine
  // Loads nothing yet. `clock` must outlive what is made.
  std::unique_ptr<DeviceBackend> (*make)(int device, const Clock& clock);
};
const std::vector<DeviceKind>& DeviceKinds();

struct DeviceChoice {
  const DeviceKind* kind = nullptr;
  int index = 0;
  std::unique_ptr<DeviceBackend> Make(const Clock& clock) const { return kind->make(index, clock); }
};
std::vector<std::string> DeviceWords();  // "cpu", "cuda:0"
// "cpu", "cpu:0", "cuda:1". Throws UserError with the nearest name.
DeviceChoice DeviceByName(const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_DEVICES_H_
