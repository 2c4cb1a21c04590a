// Reading `machines:`, `runtime:` and `emulate:` of a scenario: what is shipped, by name, or something built from it.
#include <fmt/format.h>

#include <optional>
#include <set>

#include "hw/text/lists.h"
#include "model/profile/machine.h"
#include "scenarios/file/list_reader.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/runtime.h"
#include "sim/planning/strategy.h"

namespace spillway {

namespace {

// ---- machines

// Nothing when the machine is not there or its file is wrong: that was reported.
std::optional<Machine> LoadFrom(const std::string& from, Mark mark, ScenarioErrors& errors) {
  std::optional<Machine> machine;
  const auto load = [&] { machine = LoadMachine(from); };
  if (from.ends_with(".yaml")) {
    errors.LoadOther(mark, from, load);
  } else if (const auto names = ListMachines(); Contains(names, from)) {
    load();
  }
  return machine;
}

// What the machine is asked for must be there.
void CheckConnection(const Machine& machine, const MachineChoice& choice, MapReader& reader) {
  std::vector<std::string> hosts;
  const Link* link = nullptr;
  for (const Link& candidate : machine.links) {
    if (candidate.device != 0) continue;
    hosts.push_back(machine.hosts[static_cast<std::size_t>(candidate.host)].name);
    if (link == nullptr && (choice.host.empty() || hosts.back() == choice.host)) link = &candidate;
  }
  reader.Check(link != nullptr, "host",
               fmt::format("no link of {} leads to '{}'{} (one of {})", machine.name, choice.host,
                           DidYouMean(choice.host, hosts), fmt::join(hosts, ", ")));
  const bool known = link == nullptr || link->FindOtherMemory(OtherMemory::Kind::kPageable) != nullptr;
  reader.Check(known || !choice.pageable, "host_memory",
               fmt::format("{} has no curves for pageable memory on its link '{}'", machine.name,
                           link == nullptr ? "" : link->name));
}

void CheckMachineName(const MachineChoice& choice, MapReader& reader) {
  const std::vector<std::string> names = ListMachines();
  reader.Check(!Contains(names, choice.name), "name", fmt::format("'{}' is a shipped machine", choice.name));
  reader.Check(!choice.name.ends_with(".yaml"), "name", "a name that ends in .yaml would be taken for a path");
}

MachineChoice ReadChangedMachine(const Node& item, const std::string& file, ScenarioErrors& errors) {
  MapReader reader(item, errors.own, "machine", MachineChoiceKeys());
  MachineChoice choice;
  choice.name = reader.RequiredString("name");
  CheckMachineName(choice, reader);
  const Node* from = reader.Required("from");
  if (from != nullptr) choice.from = ReadMachineName(*from, file, errors);
  choice.host = reader.StringOr("host", "");
  choice.pageable = reader.ChoiceOr("host_memory", {"pinned", "pageable"}, 0) == 1;
  if (from != nullptr) {
    if (const auto machine = LoadFrom(choice.from, from->mark, errors)) CheckConnection(*machine, choice, reader);
  }
  reader.Finish();
  return choice;
}

// ---- runtimes

RuntimeChoice ReadChanged(const Node& node, Diagnostics& diagnostics) {
  MapReader reader(node, diagnostics, "runtime", RuntimeChoiceKeys());
  RuntimeChoice choice;
  choice.name = reader.RequiredString("name");
  const std::vector<std::string> names = RuntimeNames();
  const int from = reader.ChoiceOr("from", names, 0);
  choice.runtime = RuntimeByName(names[static_cast<std::size_t>(from)]);
  ReadRuntimeFields(reader, choice.runtime);
  choice.framework_of_options = reader.ChoiceOr("framework", {"none", "of-options"}, 0) == 1;
  choice.framework_mark = reader.MarkOf("framework");
  reader.Check(!choice.framework_of_options || node.Find("framework_time") == nullptr, "framework",
               "of-options is in place of framework_time: give one of them");
  reader.Finish();
  return choice;
}

// ---- emulation

Emulation ReadEmulation(const Node& node, Diagnostics& diagnostics) {
  Emulation emulation;
  emulation.mark = node.mark;
  if (node.IsScalar() && node.scalar == "as-is") return emulation;
  MapReader reader(node, diagnostics, "emulate", EmulationKeys());
  if (reader.Optional("compute_slowdown") != nullptr) {
    emulation.compute_slowdown = reader.RequiredNumber("compute_slowdown", 1, kMostEmulatedSlowdown);
  }
  if (const Node* rate = reader.Optional("link_rate")) {
    emulation.link_rate = reader.RequiredBandwidth("link_rate");
    if (emulation.link_rate <= 0 && ParseBandwidth(rate->scalar)) {
      diagnostics.Error(rate->mark, "link_rate: must be more than zero");
    }
  }
  reader.Finish();
  if (node.IsMap() && node.entries.empty()) {
    diagnostics.Error(node.mark, "emulate: give compute_slowdown, link_rate or both, or as-is");
  }
  return emulation;
}

}  // namespace

std::string Emulation::Label() const {
  std::string label = compute_slowdown > 1 ? fmt::format("{:g}x", compute_slowdown) : "";
  if (link_rate > 0) label += fmt::format("{}{:g}GB/s", label.empty() ? "" : ",", link_rate);
  return label;
}

std::vector<Emulation> ReadEmulations(MapReader& reader, Diagnostics& diagnostics) {
  std::vector<Emulation> emulations;
  std::set<std::string> labels;
  for (const Node* item : ItemsOf(reader, "emulate", false, diagnostics)) {
    emulations.push_back(ReadEmulation(*item, diagnostics));
    if (labels.insert(emulations.back().Label()).second) continue;
    diagnostics.Error(item->mark, fmt::format("emulate: '{}' is listed twice", emulations.back().Label()));
  }
  if (emulations.empty()) emulations.push_back({});
  return emulations;
}

std::string ReadMachineName(const Node& item, const std::string& file, ScenarioErrors& errors) {
  if (item.IsScalar() && item.scalar.ends_with(".yaml")) {
    const std::string path = RelativeTo(file, item.scalar);
    errors.LoadOther(item.mark, path, [&] { LoadMachine(path); });
    return path;
  }
  return ReadName(item, "machine", ListMachines(), "spillway list machines", errors.own);
}

std::vector<MachineChoice> ReadMachines(MapReader& reader, const std::string& file, ScenarioErrors& errors) {
  std::vector<MachineChoice> choices;
  std::set<std::string> names;
  for (const Node* item : ItemsOf(reader, "machines", true, errors.own)) {
    MachineChoice choice;
    if (item->IsMap()) {
      choice = ReadChangedMachine(*item, file, errors);
      if (!choice.name.empty() && !names.insert(choice.name).second) {
        errors.own.Error(item->mark, fmt::format("machines: a second machine is called '{}'", choice.name));
      }
    } else {
      choice.from = ReadMachineName(*item, file, errors);
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<RuntimeChoice> ReadRuntimes(MapReader& reader, Diagnostics& diagnostics) {
  std::vector<RuntimeChoice> choices;
  const std::vector<std::string> names = RuntimeNames();
  for (const Node* item : ItemsOf(reader, "runtime", false, diagnostics)) {
    if (item->IsMap()) {
      choices.push_back(ReadChanged(*item, diagnostics));
      continue;
    }
    const std::string name = ReadName(*item, "runtime", names, "", diagnostics);
    const bool known = Contains(names, name);
    choices.push_back({name, known ? RuntimeByName(name) : Runtime{}});
  }
  if (choices.empty()) choices.push_back({});
  return choices;
}

}  // namespace spillway
