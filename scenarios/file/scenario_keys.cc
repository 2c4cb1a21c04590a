#include <fmt/format.h>

#include <map>
#include <utility>

#include "hw/text/lists.h"
#include "model/network/optimizer.h"
#include "model/network/precision.h"
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
                "the network's usual", "for networks of the zoo"},
               {"frames", OrList(WholeNumberFrom(1, kMostPixels)), "the network's usual",
                "for 3-D networks of the zoo"},
               {"classes", OrList(WholeNumberFrom(1, kMostClasses)), "the network's usual", "for networks of the zoo"},
               {"precision", OrList(OneOf(NamesOf(PrecisionTable()))), "single precision, or the file's own",
                "types of tensors, and arithmetic of products"},
               {"optimizer", OrList(OneOf(NamesOf(OptimizerTable()))), "the file's own, or that of the step options",
                "what the update reads and writes beside gradient and parameter"},
               {"graph", "a path", "", "a recorded step of any framework, in JSON: `spillway help graph`"},
               {"batch", OrList(WholeNumberFrom(1, kMostBatch)), "required, unless `graph` is given",
                "samples in a step"}},
      .note = "Exactly one of zoo, file and graph. Lists are swept, in every combination."};
  return kTable;
}

const KeyTable& MachineChoiceKeys() {
  static const KeyTable kTable{
      .title = "machine of a scenario",
      .keys = {Named("name", kRequired, "its name in results; not that of a shipped machine"),
               {"from", "a name, or a path", kRequired, "a shipped machine, or a profile of your own"},
               Named("host", "the nearest", "the host node that copies use"),
               {"host_memory", OneOf({"pinned", "pageable"}), "pinned", "the host memory that copies use"}},
      .note = "A machine with changes."};
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
    KeyRow parameters{"parameters", "a map", "none",
                      "its parameters (`spillway list strategies`); strategies that have any:"};
    for (const Strategy& strategy : Strategies()) {
      if (strategy.parameters.empty()) continue;
      parameters.meaning += std::string(parameters.maps.empty() ? " " : ", ") + strategy.name;
      parameters.maps.push_back(&ParameterKeys(strategy));
    }
    return KeyTable{.title = "strategy of a scenario",
                    .keys = {Named("strategy", kRequired, "its name: `spillway list strategies`"),
                             {"planned_on", "a name, or a path", "the point's own",
                              "the machine that the plan is made for; the plan then runs on the point's machine"},
                             std::move(parameters)},
                    .note = "Results name a strategy with its parameters: `pooch:rungs=4`."};
  }();
  return kTable;
}

const KeyTable& RuntimeChoiceKeys() {
  static const KeyTable kTable = [] {
    KeyTable table{.title = "runtime of a scenario",
                   .keys = {Named("name", kRequired, "its name in results"),
                            {"from", OneOf(RuntimeNames()), RuntimeNames().front(),
                             "the runtime that gives the keys that are left out"}},
                   .note = "How the modelled system executes a plan."};
    for (KeyRow& key : RuntimeFieldKeys("as `from` has it")) table.keys.push_back(std::move(key));
    table.keys.push_back({"framework", OneOf({"none", "of-options"}), "none",
                          "of-options: framework_time, and whether each call waits, are those known of the framework "
                          "that `options` names; "
                          "not with plain options"});
    return table;
  }();
  return kTable;
}

const KeyTable& EmulationKeys() {
  static const KeyTable kTable{
      .title = "emulate",
      .keys = {{"compute_slowdown", NumberFrom(1, kMostEmulatedSlowdown), "1",
                "factor on the time of every kernel; the device idles after the kernel"},
               {"link_rate", kABandwidth, "the machine's own",
                "rate of copies in each direction; not above the machine's own, and not together with `link`"}},
      .note = "Another machine's balance of computing and copying on this one: one key or both."};
  return kTable;
}

const KeyTable& BoundKeys() {
  static const KeyTable kTable{
      .title = "figure with bounds", .keys = BoundRows(), .note = "Give value, or at_least, at_most, or both."};
  return kTable;
}

const KeyTable& RatioKeys() {
  static const KeyTable kTable = [] {
    KeyTable table{.title = "ratio",
                   .keys = {Named("network", "the row's", "the other row's"),
                            Named("machine", "the row's", "the other row's"),
                            Named("strategy", "the row's", "the other row's"),
                            {"batch", WholeNumberFrom(1, kMostBatch), "the row's", "the other row's"},
                            {"memory", kASize, "the row's", "the other row's, to the byte"}},
                   .note =
                       "Throughput over that of another row, which differs in at least one of the first five keys. "
                       "Give value, or at_least, at_most, or both."};
    for (KeyRow& key : BoundRows()) table.keys.push_back(std::move(key));
    return table;
  }();
  return kTable;
}

const KeyTable& ExpectationKeys() {
  static const KeyTable kTable{
      .title = "expectation",
      .keys =
          {Named("network", "every one", "rows of this network"),
           Named("machine", "every one", "rows of this machine"),
           Named("strategy", "every one", "rows of this strategy"),
           {"batch", OrList(WholeNumberFrom(1, kMostBatch)), "every one", "rows of this batch size"},
           {"memory", kASize, "every one", "rows of this memory limit, to the byte"},
           FigureRow("samples_per_second", "a number", "throughput"),
           FigureRow("step_time", "a duration such as 2.05 s", "time of one step"),
           FigureRow("below_in_core", "a share such as 38 %",
                     "throughput below the fastest in-core row's, whatever its batch"),
           FigureRow("keep", "a number", "feature maps kept"),
           FigureRow("swap", "a number", "feature maps swapped"),
           FigureRow("recompute", "a number", "feature maps recomputed"),
           FigureRow("mean_saving", "a share such as 89 %",
                     "share by which mean_bytes is below network-wide allocation (network_wide_bytes)"),
           FigureRow("mean_saving_beside_parameters", "a share such as 89 %",
                     "the same without parameters, their gradients and the optimizer's state on both sides"),
           FigureRow("peak", kASize, "peak of device memory"),
           FigureRow("network_wide", kASize,
                     "device memory under network-wide allocation, as in Torch (network_wide_bytes)"),
           FigureRow("host_peak", kASize, "peak of pinned host memory"),
           FigureRow("map_share", "a share such as 80 %", "share of feature maps in the live bytes at the peak"),
           FigureRow(
               "copy_rate", "a bandwidth such as 12.8 GB/s",
               "rate of large copies, both directions alike; for unified memory, of the pages that kernels wait for"),
           {"ratio", "a map", "", "throughput over another row's", {&RatioKeys()}},
           {"feasible", kTrueOrFalse, "", "whether the row runs; a row that is expected not to run is no error"},
           Named("source", kRequired, "who published or requires the figure"),
           Named("why", "none", "the explanation of a difference, shown with the figure"),
           {"within", "a share such as 10 %", "only reported",
            "the largest difference allowed; makes the figure a gate"},
           {"required", kTrueOrFalse, "false", "makes `feasible` and bounds gates"},
           Named("claim", "the figure", "the claim in words, for `spillway claims`"),
           {"counted", kTrueOrFalse, "true", "false: `spillway claims` shows the figure and does not count it"}},
      .note =
          "A published or required figure, shown with ours: at least one of samples_per_second ... feasible, for every "
          "row that the first five keys select. `run --check` exits with 1 when a gate fails."};
  return kTable;
}

const KeyTable& ScenarioKeys() {
  static const KeyTable kTable{
      .title = "scenario",
      .keys = {Named("name", kRequired, "the title of the result tables"),
               {"network", OrList("a map"), kRequired, "what is trained", {&NetworkChoiceKeys()}},
               {"machines",
                "a name, a path, a map, or a list of them",
                kRequired,
                "shipped machines (`spillway list machines`), profiles (`spillway help machine`), or a machine with "
                "changes",
                {&MachineChoiceKeys()}},
               {"strategies",
                "a name, a map, or a list of them",
                kRequired,
                "`spillway list strategies`; or a strategy with parameters, or one that plans for another machine",
                {&StrategyChoiceKeys()}},
               {"options", OrList(OneOf(OptionNames())), "plain", "the framework whose training step is modelled"},
               {"framework", OrList(OneOf(FrameworkNames())), "none",
                "whose step it is, in place of `options` and `runtime`: its options, its waits and its host's time"},
               {"runtime",
                "a name, a map, or a list of them",
                "each strategy's own",
                "every strategy runs on this runtime (`spillway list strategies`), or on one built from another",
                {&RuntimeChoiceKeys()}},
               {"memory", OrList(kASize), "no cap", "cap below the machine's usable memory"},
               {"usable_memory", OrList(kASize), "the machine's", "replaces the machine's usable memory"},
               {"link", OrList(kABandwidth), "the machine's",
                "this rate in both directions, with the profile's latency"},
               {"emulate",
                "a map, as-is, or a list of them",
                "as-is",
                "another machine's balance on this one; `validate` carries it out on devices that can",
                {&EmulationKeys()}},
               {"workspace", OrList(kASize), "as the framework of `options`",
                "limit of the workspace of a library call"},
               {"expect", "a list of maps", "none", "figures that are known about the outcome", {&ExpectationKeys()}}},
      .note =
          "Every list is swept, in every combination. Paths are relative to the scenario's folder. GB is 1e9 bytes, "
          "GiB 2^30."};
  return kTable;
}

}  // namespace spillway
