// What the command line says instead of the scenario.
//
// Tested by cli_test and prepare_test (tests/).
#ifndef SPILLWAY_SCENARIOS_FILE_OVERRIDES_H_
#define SPILLWAY_SCENARIOS_FILE_OVERRIDES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/file/scenario.h"

namespace spillway {

// Command line options that replace what the scenario says. Empty: as the scenario has it.
struct Overrides {
  std::vector<std::string> machines{};
  std::vector<std::string> strategies{};
  std::vector<std::int64_t> batch{};
  std::string memory{};  // with its unit
  std::string runtime{};
  std::vector<std::string> where{};  // "AXIS=VALUE": of the scenario's values that one (where.h)
  std::string plan{};                // path: this plan in place of the strategies
  bool plan_on_any_machine = false;  // whatever the plan says that it was made for
  // Path: samples of a measured step, in place of what the machine's profile says of its launches and copies
  // (calibrate/validate/step_costs.h). All machines of the run have to be the one that was measured.
  std::string costs{};
  bool Any() const;
};

// Throws UserError for names and values that do not exist. Expectations that no longer apply are dropped later.
void ApplyOverrides(const Overrides& overrides, Scenario& scenario);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_OVERRIDES_H_
