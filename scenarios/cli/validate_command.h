// spillway validate as data, for a device of the caller's choice too.
//
// Tested by cli_validate_test, cli_validate_resume_test and cli_cuda_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_VALIDATE_COMMAND_H_
#define SPILLWAY_SCENARIOS_CLI_VALIDATE_COMMAND_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/validate/memory.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/devices.h"
#include "scenarios/cli/scenario_options.h"

namespace spillway {

struct ValidateAsked {
  ScenarioOptions scenarios;
  std::vector<std::string> torch;  // reports of a carrier; none: a scenario is carried out
  std::string device = "cpu";      // as typed
  std::string out;                 // folder; "" = none
  std::string line;                // as typed
  std::string format = "table";
  int steps = 20, random_plans = 0;
  std::uint64_t seed = 1;
  bool resume = false;
};

// `memory` and `stop` as in ValidateOptions; after a stop the exit status is kExitInterrupted, the tables are those of
// the finished cases, and expectations are not judged. The folder: scenarios/validate/validate_files.h.
ExitCode ValidateWith(
    DeviceBackend& backend, const ValidateAsked& asked, Console& console, ProcessMemory* memory = nullptr,
    const std::function<bool()>& stop = [] { return false; });

// Of ValidateAsked::torch alone: no device, no scenario. kExitExpectationFailed: a plan without a whole step, or a counted peak
// above its memory limit. UserError: mistakes of the reports, options that need a scenario.
ExitCode ValidateTorch(const ValidateAsked& asked, Console& console);

class ValidateCommand : public Command {
 public:
  void Declare(Options& options) override;
  void Parse() override;
  bool ForReading() const override { return asked_.format == "table"; }
  ExitCode Run(Console& console) const override;
  const ValidateAsked& asked() const { return asked_; }  // once parsed

 private:
  DeviceChoice device_;
  ValidateAsked asked_;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_VALIDATE_COMMAND_H_
