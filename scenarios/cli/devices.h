// The devices that `calibrate` measures, `validate` runs on and `probe` looks at: one line of a table each.
//
// To add one: calibrate/devices/backend.h says how, and a line in devices.cc.
#ifndef SPILLWAY_SCENARIOS_CLI_DEVICES_H_
#define SPILLWAY_SCENARIOS_CLI_DEVICES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/backend.h"
#include "calibrate/validate/memory.h"
#include "scenarios/cli/command.h"

namespace spillway {

struct DeviceKind {
  const char* name;  // "cpu", "cuda"
  int most;          // of them in one machine
  // Loads nothing yet. `clock` must outlive what is made.
  std::unique_ptr<DeviceBackend> (*make)(int device, const Clock& clock);
};
const std::vector<DeviceKind>& DeviceKinds();

// The device called "cpu", "cpu:0", "cuda:1". Throws UserError with the nearest name.
std::unique_ptr<DeviceBackend> DeviceByName(const std::string& name, const Clock& clock);

// The verbs with a device of the caller's choice.
ExitCode CalibrateWith(DeviceBackend& backend, const Command& command, Console& console);
// `memory` and `stop` as in ValidateOptions; after a stop the exit status is kExitInterrupted, the tables are those of
// the finished cases, and expectations are not judged. The folder: scenarios/validate/validate_files.h.
ExitCode ValidateWith(
    DeviceBackend& backend, const Command& command, Console& console, ProcessMemory* memory = nullptr,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_DEVICES_H_
