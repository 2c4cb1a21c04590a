// spillway list: what there is, by name.
#include <functional>

#include "model/network/network_keys.h"
#include "reports/reports.h"
#include "reports/text.h"
#include "scenarios/verbs/command.h"

namespace spillway {

namespace {

std::string Machines() {
  TextTable table({"<name", "<description"});
  for (const std::string& name : ListMachines()) table.Row({name, LoadMachine(name).description});
  return table.Text();
}

std::string Networks() {
  TextTable table({"<name", "<description", "<source"});
  for (const ZooEntry& entry : Zoo()) table.Row({entry.name, entry.description, entry.source});
  return table.Text();
}

std::string StrategiesAndRuntimes() {
  TextTable table({"<name", "<description", "<paper"});
  for (const Strategy& s : Strategies()) table.Row({s.name, s.description, s.paper});
  TextTable runtimes({"<runtime", "<description"});
  for (const RuntimeEntry& r : RuntimeTable()) runtimes.Row({r.name, r.description});
  return table.Text() + "\n" + runtimes.Text();
}

std::string ReportNames() {
  TextTable table({"<name", "<file", "<description"});
  for (const Report& r : Reports()) table.Row({r.name, *r.file == '\0' ? "-" : r.file, r.description});
  return table.Text();
}

std::string KeyNames(const LayerKind& kind) {
  std::string names;
  for (const KeyRow& key : LayerKindKeys(kind).keys) {
    const bool required = key.otherwise.starts_with(kRequiredKey);
    names += (names.empty() ? "" : " ") + (required ? key.name : "[" + key.name + "]");
  }
  return names.empty() ? "-" : names;
}

std::string Layers() {
  TextTable table({"<kind", "<reads", "<keys", "<description"});
  for (const LayerKind* kind : LayerKinds()) {
    table.Row({kind->name, InputCountText(*kind), KeyNames(*kind), kind->description});
  }
  return table.Text() + "\nWhat the keys mean: spillway help network\n";
}

struct Topic {
  const char* name;
  std::string (*text)();
};
constexpr Topic kTopics[] = {{"machines", Machines},
                             {"networks", Networks},
                             {"layers", Layers},
                             {"strategies", StrategiesAndRuntimes},
                             {"reports", ReportNames}};

}  // namespace

ExitCode ListVerb(const Command& command, Console& console) {
  std::vector<std::string> names;
  for (const Topic& topic : kTopics) {
    names.emplace_back(topic.name);
    if (command.topic != topic.name) continue;
    console.out << topic.text();
    return kExitDone;
  }
  throw UserError("list: unknown topic '" + command.topic + "'" + DidYouMean(command.topic, names) +
                  " (machines, networks, layers, strategies, reports)");
}

}  // namespace spillway
