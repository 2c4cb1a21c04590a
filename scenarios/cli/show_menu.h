// spillway show menu: by which algorithms a network's convolutions may run.
//
// Tested by cli_show_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_SHOW_MENU_H_
#define SPILLWAY_SCENARIOS_CLI_SHOW_MENU_H_

#include <functional>
#include <string>

#include "model/network/network.h"
#include "scenarios/cli/show_asked.h"

namespace spillway {

// As text: of each kind of convolution the algorithms that no other one beats in both workspace and time, and those that
// runs take. Throws UserError without a machine, or with an unknown one, before the network is built.
std::string ShowMenu(const ShowAsked& asked, const std::function<Network()>& build);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_MENU_H_
