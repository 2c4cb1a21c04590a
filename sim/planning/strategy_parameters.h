// Parameters of a strategy, in addition to the problem: named values, each with a kind, a range or a list of words, and
// a default.
//
// A strategy lists its parameters in its line of sim/strategies/table.inc. Scenarios set them under `parameters`, where
// names and ranges are checked (scenarios/file/scenario_strategies.cc). So a strategy reads a value in range, or none.
#ifndef SPILLWAY_SIM_PLANNING_STRATEGY_PARAMETERS_H_
#define SPILLWAY_SIM_PLANNING_STRATEGY_PARAMETERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace spillway {

struct ParameterRow {
  const char* name;
  const char* otherwise;  // what holds without it: a value, or in words
  const char* meaning;    // one sentence, without a full stop
  // The range of a whole number. Both 0 and no words: the parameter is true or false.
  std::int64_t least = 0, most = 0;
  std::vector<std::string> (*words)() = nullptr;  // of a word: those that it may be
  bool IsFlag() const { return least == 0 && most == 0 && words == nullptr; }
};

using ParameterValue = std::variant<bool, std::int64_t, std::string>;
std::string ParameterText(const ParameterValue& value);  // as files have it: "true", "12", "pooch"

// Values by name, each name once, in the order in which they were set.
class StrategyParameters {
 public:
  // REQUIRES: the name is not set yet.
  void Set(std::string name, ParameterValue value);
  // The value of that name, or what holds without it. Throws std::logic_error for one of the other kind: our bug.
  std::int64_t Number(std::string_view name, std::int64_t otherwise) const;
  bool Flag(std::string_view name, bool otherwise) const;
  std::string Word(std::string_view name, std::string otherwise) const;
  const std::vector<std::pair<std::string, ParameterValue>>& values() const { return values_; }
  // The suffix of the strategy's name in plans and results: ":rungs=4:keep_passed=true"; "" without parameters.
  std::string Label() const;
  bool operator==(const StrategyParameters&) const = default;

 private:
  template <typename T>
  T Get(std::string_view name, T otherwise) const;
  std::vector<std::pair<std::string, ParameterValue>> values_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_STRATEGY_PARAMETERS_H_
