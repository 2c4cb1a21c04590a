// spillway show floor: how little memory a step can do with.
#ifndef SPILLWAY_SCENARIOS_CLI_SHOW_FLOOR_H_
#define SPILLWAY_SCENARIOS_CLI_SHOW_FLOOR_H_

#include <string>
#include <vector>

#include "model/network/network.h"
#include "scenarios/cli/command.h"

namespace spillway {

// As text: the least memory in which a plan was found with everything on the device, with ops left whole, and with ops that
// stream in parts, and what stands in the way of less. `network`: the one that the command names. Without a machine it is
// the unit machine, whose kernels want no workspace. Throws UserError for an unknown machine.
std::string ShowFloor(const Command& command, const Network& network);

// The same of networks of the zoo, a row each; with the op that stands in the way of less in parts.
std::string ShowFloors(const Command& command, const std::vector<std::string>& networks);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_FLOOR_H_
