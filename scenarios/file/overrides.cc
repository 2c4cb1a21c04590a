// What the command line says instead of the scenario.
#include <fmt/format.h>

#include <algorithm>

#include "hw/machine/machine.h"
#include "hw/text/lists.h"
#include "scenarios/run/prepare.h"

namespace spillway {

namespace {

void MustBeAmong(const std::string& option, const std::string& name, const std::vector<std::string>& names) {
  if (Contains(names, name)) return;
  throw UserError(fmt::format("{}: unknown name '{}'{} (one of {})", option, name, DidYouMean(name, names),
                              fmt::join(names, ", ")));
}

// A machine that the scenario builds goes by its name there.
void OverrideMachines(const std::vector<std::string>& machines, Scenario& scenario) {
  std::vector<MachineChoice> chosen;
  for (const std::string& name : machines) {
    const auto& own = scenario.machines;
    const auto found = std::find_if(own.begin(), own.end(), [&](const auto& m) { return m.Label() == name; });
    if (found == own.end() && !name.ends_with(".yaml")) MustBeAmong("--machines", name, ListMachines());
    chosen.push_back(found != own.end() ? *found : MachineChoice{.from = name});
  }
  scenario.machines = std::move(chosen);
}

void OverrideStrategies(const std::vector<std::string>& names, Scenario& scenario) {
  std::vector<StrategyChoice> chosen;
  for (const std::string& name : names) {
    const auto& own = scenario.strategies;
    const auto found = std::find_if(own.begin(), own.end(), [&](const auto& s) { return s.Label() == name; });
    if (found == own.end()) MustBeAmong("--strategies", name, StrategyNames());
    chosen.push_back(found != own.end() ? *found : StrategyChoice{name, "", {}});
  }
  scenario.strategies = std::move(chosen);
}

}  // namespace

bool Overrides::Any() const {
  return !machines.empty() || !strategies.empty() || !batch.empty() || !memory.empty() || !runtime.empty() ||
         !plan.empty();
}

void ApplyOverrides(const Overrides& overrides, Scenario& scenario) {
  if (!overrides.machines.empty()) OverrideMachines(overrides.machines, scenario);
  if (!overrides.strategies.empty()) OverrideStrategies(overrides.strategies, scenario);
  for (const std::int64_t batch : overrides.batch) {
    if (batch < 1 || batch > kMostBatch) {
      throw UserError(fmt::format("--batch: expected a whole number from 1 to {}, found {}", kMostBatch, batch));
    }
  }
  if (!overrides.batch.empty()) {
    for (NetworkChoice& network : scenario.networks) network.batch = overrides.batch;
  }
  if (!overrides.memory.empty()) {
    const auto bytes = ParseBytes(overrides.memory);
    if (!bytes || *bytes == 0) {
      throw UserError(fmt::format("--memory: expected a size such as 12 GiB, found '{}'", overrides.memory));
    }
    scenario.memory = {*bytes};
  }
  if (!overrides.runtime.empty()) {
    MustBeAmong("--runtime", overrides.runtime, RuntimeNames());
    scenario.runtimes = {{overrides.runtime, RuntimeByName(overrides.runtime)}};
  }
}

}  // namespace spillway
