// What the device that is validated needs to know of a run.
//
// Tested by cli_validate_test and cli_validate_pace_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_DEVICE_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_DEVICE_H_

#include "calibrate/validate/device_as_found.h"
#include "scenarios/run/run.h"

namespace spillway {

// Points into `run`: its machines get the links and costs that are found.
ValidatedRun DeviceSideOf(PreparedRun& run, const DeviceBackend& backend);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_DEVICE_H_
