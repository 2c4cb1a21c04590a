// What a strategy may be told beside the problem: named values, each of a kind, with a range or the words that it may be,
// and with what holds without it.
//
// A strategy lists what it takes in its line of sim/strategies/table.inc. Scenarios say it under `parameters`, where names
// and ranges are checked (scenarios/file/scenario_strategies.cc), so that a strategy reads what is in range, or nothing.
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
  // Of a whole number; both 0, and no words: it is true or false.
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
  // What is put behind the strategy's name, in plans and results: ":rungs=4:keep_passed=true"; "" without any.
  std::string Label() const;
  bool operator==(const StrategyParameters&) const = default;

 private:
  template <typename T>
  T Get(std::string_view name, T otherwise) const;
  std::vector<std::pair<std::string, ParameterValue>> values_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_STRATEGY_PARAMETERS_H_
