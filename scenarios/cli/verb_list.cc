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
  TextTable table({"<name", "<description"}), sources({"<name", "<source"});
  for (const ZooEntry& entry : Zoo()) {
    table.Row({entry.name, entry.description});
    sources.Row({entry.name, entry.source});
  }
  return table.Text() +
         "other depths: resnet<3n+2> from 26 up (bottleneck blocks), vgg<16+5k>; e.g. resnet1001, vgg416\n\n" +
         sources.Text();
}

std::string StrategiesAndRuntimes() {
  TextTable table({"<name", "<description"}), papers({"<name", "<paper"});
  std::string parameters;
  for (const Strategy& s : Strategies()) {
    table.Row({s.name, s.description});
    if (*s.paper != '\0') papers.Row({s.name, s.paper});
    if (!s.parameters.empty()) parameters += KeyPage(ParameterKeys(s)) + "\n";
  }
  TextTable runtimes({"<runtime", "<description"});
  for (const RuntimeEntry& r : RuntimeTable()) runtimes.Row({r.name, r.description});
  return table.Text() + "\n" + papers.Text() + "\n" + parameters + runtimes.Text();
}

std::string ReportNames() {
  TextTable table({"<name", "<file", "<description"});
  for (const Report& r : Reports()) table.Row({r.name, *r.file == '\0' ? "-" : r.file, r.description});
  return table.Text() + "\n{} is the name of the point: network, batch, machine and strategy (results.csv: point)\n";
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
  TextTable table({"<kind", "<description"}), keys({"<kind", "<reads", "<keys"});
  for (const LayerKind* kind : LayerKinds()) {
    table.Row({kind->name, kind->description});
    keys.Row({kind->name, InputCountText(*kind), KeyNames(*kind)});
  }
  return table.Text() + "\n" + keys.Text() + "\nThe keys are explained by: spillway help network\n";
}

constexpr Topic<std::string()> kTopics[] = {{"machines", Machines},
                                            {"networks", Networks},
                                            {"layers", Layers},
                                            {"strategies", StrategiesAndRuntimes},
                                            {"reports", ReportNames}};

class ListCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("WHAT", topic_, "machines, networks, layers, strategies or reports").Required().Offer([] {
      return NamesOf(kTopics);
    });
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
