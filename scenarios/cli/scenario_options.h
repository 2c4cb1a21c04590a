// Options that verbs about scenarios share: which files, what replaces what they say, and on how many threads.
#ifndef SPILLWAY_SCENARIOS_CLI_SCENARIO_OPTIONS_H_
#define SPILLWAY_SCENARIOS_CLI_SCENARIO_OPTIONS_H_

#include <string>
#include <vector>

#include "scenarios/cli/options.h"
#include "scenarios/output/console.h"
#include "scenarios/run/prepare.h"

namespace spillway {

struct ScenarioOptions {
  std::vector<std::string> files;
  Overrides overrides;
  int jobs = 0;  // 0 = all cores

  void DeclareFiles(Options& options);
  void DeclareJobs(Options& options);
  void DeclareOverrides(Options& options);  // but for --plan and --costs, which not all verbs have
  void DeclarePlan(Options& options, const char* meaning = "execute this plan instead of the strategies' plans");
  void DeclareCosts(Options& options);

  // Loads the files; throws UserError with all mistakes of all of them. `keep_steps`: as in PreparedRun.
  PreparedRun Prepare(bool keep_steps = true) const;
  PreparedRun Prepare(Console& console, bool keep_steps = true) const;  // the same, and says what it warns of
  // Threads to run points with: as many as were asked for, else as the machine has cores.
  int Threads() const;
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SCENARIO_OPTIONS_H_
