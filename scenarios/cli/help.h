// What `spillway help` knows beside the options, which are in arguments.cc.
#ifndef SPILLWAY_SCENARIOS_CLI_HELP_H_
#define SPILLWAY_SCENARIOS_CLI_HELP_H_

#include <string>
#include <vector>

#include "scenarios/cli/command.h"

namespace spillway {

struct VerbExit {
  ExitCode code;
  const char* meaning;
};

// One for each verb of Verbs().
struct VerbGuide {
  const char* verb;
  std::vector<const char*> examples;  // whole command lines
  std::vector<VerbExit> exits;        // but kExitInternalError, which all may have
};
const std::vector<VerbGuide>& VerbGuides();

// Its examples and exits, as they stand below the options.
std::string GuideText(const VerbGuide& guide);

// Pages of keys, by name: "scenario", "plan", "network", "machine". A name that is a verb's too (plan) asks for both.
std::vector<std::string> HelpPageNames();
std::string HelpPage(const std::string& name);  // "" when there is none

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_HELP_H_
