// What `run` and `compare` share: points are carried out, and what comes out is shown and kept.
//
// Tested by cli_test, cli_resume_test and cli_interrupt_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_RESULTS_H_
#define SPILLWAY_SCENARIOS_CLI_RESULTS_H_

#include <functional>
#include <string>
#include <vector>

#include "reports/rows/expectation.h"
#include "reports/rows/result.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/run/run.h"

namespace spillway {

struct ResultsAsked {
  std::string out;   // folder; "" = none
  std::string line;  // as typed
  std::string format = "table";
  int threads = 1;
  bool resume = false;
  bool check = false;         // an expectation that is a gate and fails is a status
  bool timeline = false;      // each point in characters
  bool no_timelines = false;  // in the folder
  HelpsAsked helps{};
  std::function<bool()> stop{};  // as in RunPoints
};

// Carries the points out, asks what would help, writes the folder, and shows what came out by `show`.
using ShowResults = std::function<void(const ResultSet& results, const std::vector<Verdict>& verdicts)>;
ExitCode RunPrepared(const PreparedRun& run, const ResultsAsked& asked, Console& console, const ShowResults& show);

// spillway run.
class RunCommand : public Command {
 public:
  void Declare(Options& options) override;
  bool ForReading() const override { return asked_.format == "table"; }
  ExitCode Run(Console& console) const override;
  // With `stop` in place of the signals.
  ExitCode RunUntil(Console& console, const std::function<bool()>& stop) const;

 private:
  ScenarioOptions scenarios_;
  ResultsAsked asked_;
};

// spillway compare.
class CompareCommand : public Command {
 public:
  void Declare(Options& options) override;
  ExitCode Run(Console& console) const override;
  ExitCode RunUntil(Console& console, const std::function<bool()>& stop) const;

 private:
  ExitCode ComparePlans(Console& console) const;

  ScenarioOptions scenarios_;
  std::string out_;
  std::vector<std::string> plans_;  // one or two, in place of two machines
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_RESULTS_H_
