// One point of a scenario, for the verbs that answer about a single one: plan, dump.
#ifndef SPILLWAY_SCENARIOS_RUN_ONE_POINT_H_
#define SPILLWAY_SCENARIOS_RUN_ONE_POINT_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/run/run.h"
#include "scenarios/verbs/command.h"

namespace spillway {

// Throws UserError, with how to choose, unless all points have one network, batch, machine and memory limit.
void MustBeOnePlace(const PreparedRun& run, const std::string& verb);

// The fastest of the points; what there is to say where none runs goes to the console's `err`.
std::optional<PointResult> BestOf(const PreparedRun& run, int jobs, Console& console);

// To the file, or to the console's `out` where it is "" or "-".
void WriteText(const std::string& file, const std::string& text, Console& console);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_ONE_POINT_H_
