// Reading `runtime:` of a scenario.
#include <algorithm>

#include "scenarios/list_reader.h"
#include "scenarios/scenario_reader.h"
#include "sim/strategy.h"

namespace spillway {

namespace {

RuntimeChoice ReadChanged(const Node& node, Diagnostics& diagnostics) {
  MapReader reader(node, diagnostics, "runtime");
  RuntimeChoice choice;
  choice.name = reader.RequiredString("name");
  const std::vector<std::string> names = RuntimeNames();
  const int from = reader.ChoiceOr("from", names, 0);
  choice.runtime = RuntimeByName(names[static_cast<std::size_t>(from)]);
  ReadRuntimeFields(reader, choice.runtime);
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
