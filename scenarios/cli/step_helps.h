// What of the user's own training loop would lower the peak of a recorded step: a table with sources.
#ifndef SPILLWAY_SCENARIOS_CLI_STEP_HELPS_H_
#define SPILLWAY_SCENARIOS_CLI_STEP_HELPS_H_

#include <string>

#include "model/recorded/footprint.h"

namespace spillway {

// A row for each change that the recording shows to be open; "" where there is none.
std::string StepHelpsText(const RecordedStep& recorded, const Footprint& footprint);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_STEP_HELPS_H_
