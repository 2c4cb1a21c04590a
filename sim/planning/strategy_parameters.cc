#include "sim/planning/strategy_parameters.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace spillway {

std::string ParameterText(const ParameterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  return std::to_string(std::get<std::int64_t>(value));
}

void StrategyParameters::Set(std::string name, ParameterValue value) {
  values_.emplace_back(std::move(name), std::move(value));
}

template <typename T>
T StrategyParameters::Get(std::string_view name, T otherwise) const {
  for (const auto& [known, value] : values_) {
    if (known != name) continue;
    if (const T* found = std::get_if<T>(&value)) return *found;
    throw std::logic_error(fmt::format("parameter '{}' is read as what it is not", name));
  }
  return otherwise;
}

std::int64_t StrategyParameters::Number(std::string_view name, std::int64_t otherwise) const {
  return Get<std::int64_t>(name, otherwise);
}

bool StrategyParameters::Flag(std::string_view name, bool otherwise) const { return Get<bool>(name, otherwise); }

std::string StrategyParameters::Word(std::string_view name, std::string otherwise) const {
  return Get<std::string>(name, std::move(otherwise));
}

std::string StrategyParameters::Label() const {
  std::string label;
  for (const auto& [name, value] : values_) label += fmt::format(":{}={}", name, ParameterText(value));
  return label;
}

}  // namespace spillway
