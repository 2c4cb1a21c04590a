// Pages of keys that `spillway help` knows, beside the options of verbs.
#ifndef SPILLWAY_SCENARIOS_CLI_HELP_H_
#define SPILLWAY_SCENARIOS_CLI_HELP_H_

#include <string>
#include <vector>

namespace spillway {

// By name: "scenario", "plan", "network", "machine". A name that is a verb's too (plan) asks for both.
std::vector<std::string> HelpPageNames();
std::string HelpPage(const std::string& name);  // "" when there is none

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_HELP_H_
