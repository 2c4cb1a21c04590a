// spillway list: what there is, by name.
#include "model/network/network_keys.h"
#include "model/zoo/zoo.h"
#include "reports/reports.h"
#include "reports/tables/text.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"
#include "scenarios/cli/topics.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/runtime.h"
#include "sim/strategies/strategies.h"

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
  return table.Text() + "also resnet<3n+2> from 26 on, by bottleneck blocks, and vgg<16+5k>: resnet1001, vgg416\n";
}

std::string StrategiesAndRuntimes() {
  TextTable table({"<name", "<description", "<paper"});
  for (const Strategy& s : Strategies()) table.Row({s.name, s.description, s.paper});
  TextTable parameters({"<strategy", "<parameter", "<value", "<without it", "<meaning"});
  for (const Strategy& s : Strategies()) {
    for (const KeyRow& key : ParameterKeys(s).keys) {
      parameters.Row({s.name, key.name, key.value, key.otherwise, key.meaning});
    }
  }
  TextTable runtimes({"<runtime", "<description"});
  for (const RuntimeEntry& r : RuntimeTable()) runtimes.Row({r.name, r.description});
  return table.Text() + "\n" + parameters.Text() + "\n" + runtimes.Text();
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

constexpr Topic<std::string()> kTopics[] = {{"machines", Machines},
                                            {"networks", Networks},
                                            {"layers", Layers},
                                            {"strategies", StrategiesAndRuntimes},
                                            {"reports", ReportNames}};

class ListCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("WHAT", topic_, "machines, networks, layers, strategies or reports").Required();
  }
  ExitCode Run(Console& console) const override {
    console.out << AnswerTo(topic_, kTopics, "list")();
    return kExitDone;
  }

 private:
  std::string topic_;
};

}  // namespace

Verb ListVerb() {
  return {.name = "list",
          .description = "list machines, networks, layers, strategies or reports",
          .examples = {"spillway list machines", "spillway list layers"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<ListCommand>};
}

}  // namespace spillway
