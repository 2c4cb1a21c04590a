#include <fmt/format.h>

#include <map>
#include <utility>

#include "scenarios/file/scenario.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/plan_keys.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

constexpr const char* kRequired = "required";

std::string OrList(const std::string& value) { return value + ", or a list of them"; }

KeyRow Named(const char* name, const char* otherwise, const char* meaning) {
  return {name, kAnyText, otherwise, meaning};
}

// Of expectations.
KeyRow FigureRow(const char* name, const char* value, const char* meaning) {
  return {name, fmt::format("{}, [from, to], or a map", value), "", meaning, {&BoundKeys()}};
}

std::vector<KeyRow> BoundRows() {
  return {{"value", "as the figure's", "at_least or at_most", "a number, or [from, to]"},
          {"at_least", "as the figure's", "none", "ours is this or more"},
          {"at_most", "as the figure's", "none", "ours is this or less"}};
}

}  // namespace

const KeyTable& NetworkChoiceKeys() {
  static const KeyTable kTable{
      .title = "network of a scenario",
      .keys = {{"zoo", OrList("a name"), "", "a network that comes with Spillway: `spillway list networks`"},
               {"file", "a path", "", "a network in YAML: `spillway help network`"},
               {"image", WholeNumberFrom(1, kMostPixels) + ", height x width such as 448x224, or a list of them",
                "the network's usual", "of the zoo's networks"},
               {"frames", OrList(WholeNumberFrom(1, kMostPixels)), "the network's usual", "of 3-D ones of the zoo"},
               {"classes", OrList(WholeNumberFrom(1, kMostClasses)), "the network's usual", "of the zoo's networks"},
               {"graph", "a path", "", "a recorded step of any framework, in JSON: `spillway help graph`"},
               {"batch", OrList(WholeNumberFrom(1, kMostBatch)), "required, unless `graph` is given",
                "samples in a step"}},
      .note = "Exactly one of zoo, file and graph. Lists are swept, in every combination."};
  return kTable;
}

const KeyTable& MachineChoiceKeys() {
  static const KeyTable kTable{
      .title = "machine of a scenario",
      .keys = {Named("name", kRequired, "as results call it; not that of a shipped machine"),
               {"from", "a name, or a path", kRequired, "a shipped machine, or a profile of your own"},
               Named("host", "the nearest", "the node of the host that is copied to and from"),
               {"host_memory", OneOf({"pinned", "pageable"}), "pinned", "what the copies use there"}},
      .note = "A machine on other terms."};
  return kTable;
}

namespace {

// A list that nobody reads is one of strategies.
std::string WordsText(const std::vector<std::string>& words) {
  constexpr std::size_t kMostTold = 12;
  return words.size() > kMostTold ? "a name of `spillway list strategies`" : OneOf(words);
}

}  // namespace

const KeyTable& ParameterKeys(const Strategy& strategy) {
  static const std::map<std::string, KeyTable> kTables = [] {
    std::map<std::string, KeyTable> tables;
    for (const Strategy& s : Strategies()) {
      KeyTable& table = tables[s.name];
      table.title = std::string("parameters of ") + s.name;
      for (const ParameterRow& row : s.parameters) {
        const std::string value = row.words != nullptr ? WordsText(row.words())
                                  : row.IsFlag()       ? kTrueOrFalse
                                                       : WholeNumberFrom(row.least, row.most);
        table.keys.push_back({row.name, OrList(value), row.otherwise, row.meaning});
      }
    }
    return tables;
  }();
  return kTables.at(strategy.name);
}

const KeyTable& StrategyChoiceKeys() {
  static const KeyTable kTable = [] {
    KeyRow parameters{"parameters", "a map", "none", "what it is told beyond that; those that take any:"};
    for (const Strategy& strategy : Strategies()) {
      if (strategy.parameters.empty()) continue;
      parameters.meaning += std::string(parameters.maps.empty() ? " " : ", ") + strategy.name;
      parameters.maps.push_back(&ParameterKeys(strategy));
    }
    return KeyTable{.title = "strategy of a scenario",
                    .keys = {Named("strategy", kRequired, "its name: `spillway list strategies`"),
                             {"planned_on", "a name, or a path", "the point's own",
                              "the machine that the plan is made for, before it is carried out on the point's"},
                             std::move(parameters)},
                    .note = "Results call it by its name and its parameters: `pooch:rungs=4`."};
  }();
  return kTable;
}

const KeyTable& RuntimeChoiceKeys() {
  static const KeyTable kTable = [] {
    KeyTable table{
        .title = "runtime of a scenario",
        .keys = {Named("name", kRequired, "as results call it"),
                 {"from", OneOf(RuntimeNames()), RuntimeNames().front(), "where keys that are not given come from"}},
        .note = "How the modelled system executes what a plan decides."};
    for (KeyRow& key : RuntimeFieldKeys("as `from` has it")) table.keys.push_back(std::move(key));
    table.keys.push_back(
        {"framework", OneOf({"none", "of-options"}), "none",
         "of-options: framework_time is what is known of the framework of the scenario's `options`, not of "
         "plain ones"});
    return table;
  }();
  return kTable;
}

const KeyTable& EmulationKeys() {
  static const KeyTable kTable{
      .title = "emulate",
      .keys = {{"compute_slowdown", NumberFrom(1, kMostEmulatedSlowdown), "1",
                "every kernel takes so many times as long, by idling after it"},
               {"link_rate", kABandwidth, "the machine's own",
                "copies are paced to it in each direction; not above the machine's own, not beside `link`"}},
      .note = "Another machine's balance of computing and copying on this one: one or both."};
  return kTable;
}

const KeyTable& BoundKeys() {
  static const KeyTable kTable{.title = "figure with bounds",
                               .keys = BoundRows(),
                               .note = "Either value, or at_least and at_most or one of them."};
  return kTable;
}

const KeyTable& RatioKeys() {
  static const KeyTable kTable = [] {
    KeyTable table{.title = "ratio",
                   .keys = {Named("network", "the row's", "of the row compared with"),
                            Named("machine", "the row's", "of the row compared with"),
                            Named("strategy", "the row's", "of the row compared with"),
                            {"batch", WholeNumberFrom(1, kMostBatch), "the row's", "of the row compared with"},
                            {"memory", kASize, "the row's", "of the row compared with, to the byte"}},
                   .note =
                       "Throughput over that of another row, which differs in one of the first five or more. Then "
                       "either value, or at_least and at_most or one of them."};
    for (KeyRow& key : BoundRows()) table.keys.push_back(std::move(key));
    return table;
  }();
  return kTable;
}

const KeyTable& ExpectationKeys() {
  static const KeyTable kTable{
      .title = "expectation",
      .keys = {Named("network", "every one", "rows of this network"),
               Named("machine", "every one", "of this machine"),
               Named("strategy", "every one", "of this strategy"),
               {"batch", OrList(WholeNumberFrom(1, kMostBatch)), "every one", "of this batch"},
               {"memory", kASize, "every one", "of this memory limit, to the byte"},
               FigureRow("samples_per_second", "a number", "throughput"),
               FigureRow("step_time", "a duration such as 2.05 s", "of one step"),
               FigureRow("loss", "a share such as 38 %", "of throughput, against the fastest in-core row"),
               FigureRow("keep", "a number", "feature maps kept"),
               FigureRow("swap", "a number", "feature maps swapped"),
               FigureRow("recompute", "a number", "feature maps recomputed"),
               FigureRow("mean_saving", "a share such as 89 %",
                         "by how much mean_bytes is less than network-wide allocation (network_wide_bytes)"),
               FigureRow("mean_saving_beside_parameters", "a share such as 89 %",
                         "the same without parameters, their gradients and the optimizer's state on both sides"),
               FigureRow("peak", kASize, "of device memory"),
               FigureRow("network_wide", kASize, "what network-wide allocation takes"),
               FigureRow("host_peak", kASize, "of pinned host memory"),
               FigureRow("map_share", "a share such as 80 %",
                         "of feature maps in what is live on the device at the peak"),
               FigureRow("copy_rate", "a bandwidth such as 12.8 GB/s",
                         "of large copies, both directions alike; of unified memory what kernels wait for its pages"),
               {"ratio", "a map", "", "throughput over another row's", {&RatioKeys()}},
               {"feasible", kTrueOrFalse, "", "whether it runs; rows that are said not to are no error"},
               Named("source", kRequired, "who published or requires it"),
               Named("why", "none", "what explains a difference; shown with it"),
               {"within", "a share such as 10 %", "only reported",
                "makes a gate of a figure: the largest difference allowed"},
               {"required", kTrueOrFalse, "false", "makes a gate of feasible and of bounds"},
               Named("claim", "the figure", "what was claimed, in words: `spillway claims`"),
               {"counted", kTrueOrFalse, "true", "false: `spillway claims` shows it and leaves it out of its counts"}},
      .note =
          "A published or required figure, shown beside ours: at least one of samples_per_second ... feasible, for "
          "every row that the first five select. `run --check` exits with 1 when a gate fails."};
  return kTable;
}

const KeyTable& ScenarioKeys() {
  static const KeyTable kTable{
      .title = "scenario",
      .keys =
          {Named("name", kRequired, "the title of its tables"),
           {"network", OrList("a map"), kRequired, "what is trained", {&NetworkChoiceKeys()}},
           {"machines",
            "a name, a path, a map, or a list of them",
            kRequired,
            "shipped machines (`spillway list machines`), profiles (`spillway help machine`), or one on other terms",
            {&MachineChoiceKeys()}},
           {"strategies",
            "a name, a map, or a list of them",
            kRequired,
            "`spillway list strategies`; or one with parameters, or one that plans for another machine",
            {&StrategyChoiceKeys()}},
           {"options", OrList(OneOf(OptionNames())), "plain", "how the framework unrolls a step"},
           {"runtime",
            "a name, a map, or a list of them",
            "each strategy's own",
            "every strategy on this runtime (`spillway list strategies`), or on one built from another",
            {&RuntimeChoiceKeys()}},
           {"memory", OrList(kASize), "no cap", "cap below the machine's usable memory"},
           {"usable_memory", OrList(kASize), "the machine's", "in place of the machine's usable memory"},
           {"link", OrList(kABandwidth), "the machine's", "this rate in both directions, with the profile's latency"},
           {"emulate",
            "a map, as-is, or a list of them",
            "as-is",
            "another machine's balance on this one; `validate` carries it out on devices that can",
            {&EmulationKeys()}},
           {"workspace", OrList(kASize), "as the framework of `options`",
            "most scratch that a call of the library is granted"},
           {"expect", "a list of maps", "none", "what is known about the outcome", {&ExpectationKeys()}}},
      .note =
          "A list anywhere is swept, in every combination. Paths are relative to the scenario's folder. GB is 1e9 "
          "bytes, GiB 2^30."};
  return kTable;
}

}  // namespace spillway
