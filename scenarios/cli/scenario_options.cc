#include "scenarios/cli/scenario_options.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "hw/machine/shipped.h"
#include "hw/text/lists.h"
#include "scenarios/file/scenario.h"

namespace spillway {

void ScenarioOptions::DeclareFiles(Options& options) { options.Texts("FILE", files, "scenario files").Required(); }

void ScenarioOptions::DeclareJobs(Options& options) {
  options.Whole("--jobs", jobs, 1, 1024, "threads; the results do not depend on it (default: all cores)");
}

void ScenarioOptions::DeclareOverrides(Options& options) {
  options.Texts("--machines,--machine", overrides.machines, "these machines instead of the scenario's")
      .SplitAtCommas()
      .Offer(ListMachines);
  options.Texts("--strategies,--strategy", overrides.strategies, "these strategies instead of the scenario's")
      .SplitAtCommas()
      .Offer(StrategyNames);
  options.Batches("--batch", overrides.batch, "these batch sizes instead of the scenario's");
  options.Text("--memory", overrides.memory, "cap on device memory, e.g. 12GiB");
  options.Texts("--where", overrides.where, "AXIS=VALUE: of the scenario's lists only this value, e.g. link=6GB/s")
      .OneEach();
  options.Text("--runtime", overrides.runtime, "execute every plan on this runtime (spillway list strategies)")
      .Offer(RuntimeNames);
}

void ScenarioOptions::DeclarePlan(Options& options, const char* meaning) {
  options.Text("--plan", overrides.plan, meaning);
}

void ScenarioOptions::DeclareCosts(Options& options) {
  options.Text("--costs", overrides.costs, "use measured times: costs/POINT.csv in the folder of a validation");
}

PreparedRun ScenarioOptions::Prepare(bool keep_steps) const {
  PreparedRun run;
  run.keep_steps = keep_steps;
  std::vector<std::string> messages;
  for (const std::string& file : files) {
    try {
      Scenario scenario = LoadScenario(file);
      ApplyOverrides(overrides, scenario);
      spillway::Prepare(scenario, overrides, run);
    } catch (const UserError& error) {
      for (const std::string& message : error.messages()) {
        // The same machine file may be named by several scenarios.
        AddOnce(messages, message);
      }
    }
  }
  if (!messages.empty()) throw UserError(std::move(messages));
  return run;
}

PreparedRun ScenarioOptions::Prepare(Console& console, bool keep_steps) const {
  PreparedRun run = Prepare(keep_steps);
  for (const std::string& warning : run.warnings) console.err << warning << "\n";
  return run;
}

int ScenarioOptions::Threads() const {
  return jobs > 0 ? jobs : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace spillway
