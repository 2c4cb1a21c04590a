// spillway probe: a look at a GPU that nobody has used yet; a line is printed as soon as it is known.
#include <ostream>

#include "hw/text/document.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/devices.h"
#include "sim/execute/clock.h"

namespace spillway {

ExitCode ProbeVerb(const Command& command, Console& console) {
  const SteadyClock clock;
  const std::unique_ptr<DeviceBackend> device = DeviceByName(command.device, clock);
  const std::optional<int> failed = device->Probe([&](const std::string& line) { console.out << line << std::endl; });
  if (!failed) throw UserError("probe: a GPU is looked at, as cuda:0; what calibrate relies on here it checks itself");
  return *failed == 0 ? kExitDone : kExitExpectationFailed;
}

}  // namespace spillway
