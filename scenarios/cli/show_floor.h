// spillway show floor: how little memory a step can do with.
#ifndef SPILLWAY_SCENARIOS_CLI_SHOW_FLOOR_H_
#define SPILLWAY_SCENARIOS_CLI_SHOW_FLOOR_H_

#include <string>
#include <vector>

#include "model/network/network.h"
#include "scenarios/cli/show_asked.h"

namespace spillway {

// As text: the least memory in which a plan was found with everything on the device, with ops left whole, and with ops that
// stream in parts, and what stands in the way of less. `network`: the one that is named. Without a machine it is
// the unit machine, whose kernels want no workspace. Throws UserError for an unknown machine.
std::string ShowFloor(const ShowAsked& asked, const Network& network);

// The same of networks of the zoo, a row each; with the op that stands in the way of less in parts.
std::string ShowFloors(const ShowAsked& asked, const std::vector<std::string>& networks);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_FLOOR_H_
