// The strategies of a scenario: names, or maps of a strategy with its parameters and the machine that it plans for.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "scenarios/file/list_reader.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

ParameterValue ReadParameter(MapReader& reader, std::string_view key, const ParameterRow& row,
                             Diagnostics& diagnostics) {
  if (row.IsFlag()) return reader.BoolOr(key, false);
  if (row.words != nullptr) {
    const Node* const word = reader.Required(key);
    return word == nullptr ? "" : ReadName(*word, std::string(key), row.words(), "", diagnostics);
  }
  return reader.RequiredInteger(key, row.least, row.most);
}

// Every combination of the values that are listed; the parameter listed last changes fastest.
std::vector<StrategyParameters> ReadParameters(const Node& node, const Strategy& strategy, Diagnostics& diagnostics) {
  std::vector<StrategyParameters> all(1);
  double count = 1;
  MapReader reader(node, diagnostics, fmt::format("parameters of {}", strategy.name), ParameterKeys(strategy));
  for (const ParameterRow& row : strategy.parameters) {
    const auto values = ReadAxis(reader, row.name, false, diagnostics, [&](MapReader& r, std::string_view key) {
      return ReadParameter(r, key, row, diagnostics);
    });
    if (values.empty()) continue;
    count *= static_cast<double>(values.size());
    if (count > kMostPoints) continue;
    std::vector<StrategyParameters> longer;
    for (const StrategyParameters& parameters : all) {
      for (const ParameterValue& value : values) {
        longer.push_back(parameters);
        longer.back().Set(row.name, value);
      }
    }
    all = std::move(longer);
  }
  reader.Finish();
  if (count > kMostPoints) {
    diagnostics.Error(
        node.mark,
        fmt::format("the lists of parameters multiply to {:.0f}; at most {:.0f} points are run", count, kMostPoints));
  }
  return all;
}

std::string ReadStrategyName(const Node& item, Diagnostics& diagnostics) {
  return ReadName(item, "strategy", StrategyNames(), "spillway list strategies", diagnostics);
}

std::vector<StrategyChoice> ReadStrategy(const Node& item, const std::string& file, ScenarioErrors& errors) {
  StrategyChoice choice;
  choice.mark = item.mark;
  if (!item.IsMap()) {
    choice.name = ReadStrategyName(item, errors.own);
    return {choice};
  }
  MapReader reader(item, errors.own, "strategy", StrategyChoiceKeys());
  if (const Node* name = reader.Required("strategy")) choice.name = ReadStrategyName(*name, errors.own);
  if (const Node* machine = reader.Optional("planned_on")) choice.planned_on = ReadMachineName(*machine, file, errors);
  std::vector<StrategyChoice> choices;
  const Node* parameters = reader.Optional("parameters");
  const Strategy* strategy = FindStrategy(choice.name);  // nullptr: the name was complained about
  if (parameters != nullptr && strategy != nullptr && strategy->parameters.empty()) {
    errors.own.Error(parameters->mark, fmt::format("parameters: {} takes none", choice.name));
  } else if (parameters != nullptr && strategy != nullptr) {
    for (StrategyParameters& of_one : ReadParameters(*parameters, *strategy, errors.own)) {
      choices.push_back(choice);
      choices.back().parameters = std::move(of_one);
    }
  }
  reader.Finish();
  if (choices.empty()) choices.push_back(std::move(choice));
  return choices;
}

}  // namespace

std::string StrategyChoice::Label() const {
  return name + parameters.Label() + (planned_on.empty() ? "" : "@" + planned_on);
}

std::vector<StrategyChoice> ReadStrategies(MapReader& reader, const std::string& file, ScenarioErrors& errors) {
  std::vector<StrategyChoice> all;
  std::set<std::string> seen;
  for (const Node* item : ItemsOf(reader, "strategies", true, errors.own)) {
    for (StrategyChoice& choice : ReadStrategy(*item, file, errors)) {
      if (!choice.name.empty() && !seen.insert(choice.Label()).second) {
        errors.own.Error(choice.mark, fmt::format("strategies: '{}' is listed twice", choice.Label()));
      }
      all.push_back(std::move(choice));
    }
  }
  return all;
}

}  // namespace spillway
