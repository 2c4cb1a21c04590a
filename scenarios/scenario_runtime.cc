// Reading `runtime:` of a scenario.
#include <algorithm>

#include "scenarios/list_reader.h"
#include "scenarios/scenario_reader.h"
#include "sim/strategy.h"

namespace spillway {

namespace {

constexpr int kMostCopyStreams = 2;

RuntimeChoice ReadChanged(const Node& node, Diagnostics& diagnostics) {
  MapReader reader(node, diagnostics, "runtime");
  RuntimeChoice choice;
  choice.name = reader.RequiredString("name");
  const std::vector<std::string> names = RuntimeNames();
  const int from = reader.ChoiceOr("from", names, 0);
  choice.runtime = RuntimeByName(names[static_cast<std::size_t>(from)]);
  Runtime& r = choice.runtime;
  r.copy_streams = static_cast<int>(reader.IntegerOr("copy_streams", r.copy_streams, 1, kMostCopyStreams));
  // Names in the order of the enumerations, as in plan files.
  r.memory = static_cast<MemoryModel>(reader.ChoiceOr("memory", {"arena", "pool"}, static_cast<int>(r.memory)));
  r.barrier = static_cast<Barrier>(reader.ChoiceOr("barrier", {"none", "phase", "op"}, static_cast<int>(r.barrier)));
  r.host_syncs =
      static_cast<HostSyncs>(reader.ChoiceOr("host_syncs", {"none", "backward_layer"}, static_cast<int>(r.host_syncs)));
  r.framework_time = reader.DurationOr("framework_time", r.framework_time);
  r.copy_chunk = reader.BytesOr("copy_chunk", r.copy_chunk);
  reader.Finish();
  return choice;
}

}  // namespace

std::vector<RuntimeChoice> ReadRuntimes(MapReader& reader, Diagnostics& diagnostics) {
  std::vector<RuntimeChoice> choices;
  const std::vector<std::string> names = RuntimeNames();
  for (const Node* item : ItemsOf(reader, "runtime", false, diagnostics)) {
    if (item->IsMap()) {
      choices.push_back(ReadChanged(*item, diagnostics));
      continue;
    }
    const std::string name = ReadName(*item, "runtime", names, "", diagnostics);
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    choices.push_back({name, known ? RuntimeByName(name) : Runtime{}});
  }
  if (choices.empty()) choices.push_back({});
  return choices;
}

}  // namespace spillway
