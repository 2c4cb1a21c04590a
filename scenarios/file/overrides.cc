#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "hw/text/lists.h"
#include "hw/text/text_file.h"
#include "model/profile/machine.h"
#include "scenarios/file/scenario.h"
#include "scenarios/file/where.h"
#include "sim/plan/runtime.h"

namespace spillway {

namespace {

void MustBeAmong(const std::string& option, const std::string& name, const std::vector<std::string>& names) {
  if (Contains(names, name)) return;
  throw UserError(fmt::format("{}: unknown name '{}'{} (one of {})", option, name, DidYouMean(name, names),
                              fmt::join(names, ", ")));
}

namespace fs = std::filesystem;

constexpr std::size_t kMostOfProfile = std::size_t{16} << 20;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The profile that somebody means who leaves out its folder or its ending: a file of that name here, or where
// `calibrate` is mostly told to write. "": there is none.
std::string ProfileMeantBy(const std::string& name) {
  const std::string stem = fs::path(name).stem().string();
  if (stem.empty()) return "";
  const fs::path folder = fs::path(name).parent_path();
  for (const fs::path& at : {folder, fs::path("hw")}) {
    const fs::path path = at / (stem + ".yaml");
    if (!IsFile(path)) continue;
    const std::string text = ReadTextFile(path.string(), "a YAML file", kMostOfProfile);
    if (text.starts_with("devices:") || text.find("\ndevices:") != std::string::npos) return path.string();
  }
  return "";
}

// A name that is neither the scenario's nor a shipped machine's, or a path without a file.
[[noreturn]] void RefuseMachine(const std::string& name, const std::vector<std::string>& names) {
  const bool path = name.ends_with(".yaml");
  const std::string stem = fs::path(name).stem().string();
  const bool shipped = path && std::find(names.begin(), names.end(), stem) != names.end();
  const std::string meant = ProfileMeantBy(name);
  std::string instead = path ? DidYouMeanFile(name) : DidYouMean(name, names);
  if (!meant.empty()) instead = fmt::format("; did you mean '{}'?", meant);
  if (shipped) instead = fmt::format("; did you mean '{}'?", stem);
  throw UserError(fmt::format("--machines: {} '{}'{} (one of {}; or the path of a profile, ending in .yaml)",
                              path ? "there is no file" : "unknown name", name, instead, fmt::join(names, ", ")));
}

// A machine that the scenario builds goes by its name there.
void OverrideMachines(const std::vector<std::string>& machines, Scenario& scenario) {
  std::vector<MachineChoice> chosen;
  std::vector<std::string> names = ListMachines();
  for (const MachineChoice& own : scenario.machines) {
    if (!own.name.empty()) names.push_back(own.name);
  }
  const auto is_machine = [&names](const std::string& name) {
    std::error_code ignored;
    if (name.ends_with(".yaml")) return fs::exists(name, ignored);  // what is there and no file, its reader refuses
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : machines) {
    const auto& own = scenario.machines;
    const auto found = std::find_if(own.begin(), own.end(), [&](const auto& m) { return m.Label() == name; });
    if (found == own.end() && !is_machine(name)) RefuseMachine(name, names);
    chosen.push_back(found != own.end() ? *found : MachineChoice{.from = name});
  }
  scenario.machines = std::move(chosen);
}

void OverrideStrategies(const std::vector<std::string>& names, Scenario& scenario) {
  std::vector<StrategyChoice> chosen;
  for (const std::string& name : names) {
    const auto& own = scenario.strategies;
    const auto labelled = [&](const auto& s) { return s.Label() == name; };
    // All that the scenario makes of the strategy: with its parameters, and planned on the machines that it names.
    const auto named = [&](const auto& s) { return s.name == name; };
    const bool exact = std::any_of(own.begin(), own.end(), labelled);
    const std::size_t before = chosen.size();
    for (const StrategyChoice& choice : own) {
      if (exact ? labelled(choice) : named(choice)) chosen.push_back(choice);
    }
    if (chosen.size() > before) continue;
    MustBeAmong("--strategies", name, StrategyNames());
    chosen.push_back({.name = name, .planned_on = "", .mark = {}});
  }
  scenario.strategies = std::move(chosen);
}

}  // namespace

bool Overrides::Any() const {
  return !machines.empty() || !strategies.empty() || !batch.empty() || !memory.empty() || !runtime.empty() ||
         !where.empty() || !plan.empty() || !costs.empty();
}

void ApplyOverrides(const Overrides& overrides, Scenario& scenario) {
  for (const std::string& where : overrides.where) Choose(where, scenario);
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
      throw UserError(fmt::format(
          "--memory: expected one size such as 12 GiB, in B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, found '{}'",
          overrides.memory));
    }
    scenario.memory = {*bytes};
  }
  if (!overrides.runtime.empty()) {
    MustBeAmong("--runtime", overrides.runtime, RuntimeNames());
    scenario.runtimes = {{overrides.runtime, RuntimeByName(overrides.runtime)}};
  }
}

}  // namespace spillway
