// --where AXIS=VALUE: of a scenario's lists, the one value that is meant.
//
// Unlike --batch or --memory it puts nothing in the place of what the scenario says, so that it chooses among its points.
#ifndef SPILLWAY_SCENARIOS_FILE_WHERE_H_
#define SPILLWAY_SCENARIOS_FILE_WHERE_H_

#include <string>
#include <vector>

#include "scenarios/file/scenario.h"

namespace spillway {

// Leaves of the axis what `where` says. Throws UserError: no such axis, or no such value on it; names the nearest.
void Choose(const std::string& where, Scenario& scenario);

// How to choose on each axis of more than one value: `--where link=6GB/s (or 12GB/s)`.
std::vector<std::string> ChoicesOf(const Scenario& scenario);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_WHERE_H_
