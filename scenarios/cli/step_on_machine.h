// How fast a recorded step runs on a machine: with everything on the device if it fits so, else by the best plan.
//
// Tested by cli_retimed_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_STEP_ON_MACHINE_H_
#define SPILLWAY_SCENARIOS_CLI_STEP_ON_MACHINE_H_

#include <string>

#include "scenarios/cli/show.h"

namespace spillway {

// A line with step time, its 80 % interval and samples a second, and what its times rest on. Plans the step, which takes
// seconds. REQUIRES: a machine. Throws UserError as PrepareRecording does.
std::string StepOnMachineText(const ShowAsked& asked);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_STEP_ON_MACHINE_H_
