// Typed reading of the maps of a document, with a message for everything that is not as expected.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "hw/document.h"

namespace spillway {

// The units of one kind of quantity, for messages about it.
struct UnitFamily {
  const char* noun;     // "a size"
  const char* example;  // "16 GiB or 16 GB"
  std::vector<std::string> units;
};

namespace {

const UnitFamily& SizeUnits() {
  static const UnitFamily kFamily{
      "a size", "16 GiB or 16 GB", {"B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}};
  return kFamily;
}
const UnitFamily& TimeUnits() {
  static const UnitFamily kFamily{"a duration", "5 us or 1.5 ms", {"ns", "us", "ms", "s"}};
  return kFamily;
}
const UnitFamily& BandwidthUnits() {
  static const UnitFamily kFamily{"a bandwidth", "12.5 GB/s", {"MB/s", "GB/s", "TB/s"}};
  return kFamily;
}
const UnitFamily& FlopRateUnits() {
  static const UnitFamily kFamily{"a computing rate", "15.7 TFLOP/s", {"GFLOP/s", "TFLOP/s"}};
  return kFamily;
}

// What is wrong with the text of a quantity: no unit, an unknown one, or no quantity at all.
std::string QuantityProblem(std::string_view text, const UnitFamily& family) {
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  if (!text.empty() && unit_at == std::string_view::npos && ParseNumber(text)) {
    return fmt::format("'{}' has no unit; write for example {}", text, family.example);
  }
  if (unit_at != 0 && unit_at != std::string_view::npos && ParseNumber(text.substr(0, unit_at))) {
    std::string_view unit = text.substr(unit_at);
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    if (std::find(family.units.begin(), family.units.end(), unit) == family.units.end()) {
      return fmt::format("unknown unit '{}', expected one of {}{}", unit, fmt::join(family.units, " "),
                         DidYouMean(unit, family.units));
    }
  }
  return fmt::format("expected {} that fits, such as {}, found '{}'", family.noun, family.example, text);
}

std::string IntegerRange(std::int64_t min, std::int64_t max) {
  if (max == std::numeric_limits<std::int64_t>::max()) return fmt::format("a whole number from {} up", min);
  return fmt::format("a whole number from {} to {}", min, max);
}

std::string NumberRange(double min, double max) {
  if (max >= std::numeric_limits<double>::max()) return fmt::format("a number from {} up", min);
  return fmt::format("a number from {} to {}", min, max);
}

const char* KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return "a single value";
    case Node::Kind::kSequence:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "";
}

}  // namespace

MapReader::MapReader(const Node& node, Diagnostics& diagnostics, std::string what)
    : node_(&node), diagnostics_(&diagnostics), what_(std::move(what)), is_map_(node.IsMap()) {
  if (!is_map_) diagnostics.Error(node.mark, fmt::format("{}: expected a map, found {}", what_, KindName(node.kind)));
}

const Node* MapReader::Optional(std::string_view key) {
  known_.emplace_back(key);
  const Node* value = node_->Find(key);
  return value != nullptr && value->kind != Node::Kind::kNull ? value : nullptr;
}

const Node* MapReader::Required(std::string_view key) {
  const Node* value = Optional(key);
  if (value != nullptr || !is_map_) return value;
  if (const Node* null = node_->Find(key)) {
    diagnostics_->Error(null->mark, fmt::format("'{}' in {} has no value", key, what_));
  } else {
    diagnostics_->Error(node_->mark, fmt::format("missing key '{}' in {}", key, what_));
  }
  return nullptr;
}

const Node* MapReader::Scalar(std::string_view key, bool required) {
  const Node* value = required ? Required(key) : Optional(key);
  if (value == nullptr || value->IsScalar()) return value;
  Report(value->mark, key, fmt::format("{}: expected a single value, found {}", key, KindName(value->kind)));
  return nullptr;
}

void MapReader::Report(Mark mark, std::string_view key, const std::string& message) {
  reported_.emplace_back(key);
  diagnostics_->Error(mark, message);
}

void MapReader::Bad(std::string_view key, const Node& value, const std::string& expected) {
  Report(value.mark, key, fmt::format("{}: expected {}, found '{}'", key, expected, value.scalar));
}

void MapReader::Check(bool holds, std::string_view key, std::string_view problem) {
  const Node* value = node_->Find(key);
  if (holds || value == nullptr || value->kind == Node::Kind::kNull) return;
  if (std::find(reported_.begin(), reported_.end(), key) != reported_.end()) return;
  Report(value->mark, key, fmt::format("{}: {}", key, problem));
}

Mark MapReader::MarkOf(std::string_view key) const {
  const Node* value = node_->Find(key);
  return value != nullptr ? value->mark : node_->mark;
}

std::string MapReader::RequiredString(std::string_view key) {
  const Node* value = Scalar(key, true);
  if (value == nullptr) return "";
  if (value->scalar.empty()) Bad(key, *value, "a text");
  return value->scalar;
}

std::string MapReader::StringOr(std::string_view key, std::string fallback) {
  const Node* value = Scalar(key, false);
  if (value != nullptr) return value->scalar;
  return fallback;
}

std::int64_t MapReader::Integer(std::string_view key, bool required, std::int64_t fallback, std::int64_t min,
                                std::int64_t max) {
  const Node* value = Scalar(key, required);
  if (value == nullptr) return fallback;
  const auto number = ParseInteger(value->scalar);
  if (number && *number >= min && *number <= max) return *number;
  Bad(key, *value, IntegerRange(min, max));
  return fallback;
}
std::int64_t MapReader::RequiredInteger(std::string_view key, std::int64_t min, std::int64_t max) {
  return Integer(key, true, min, min, max);
}
std::int64_t MapReader::IntegerOr(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max) {
  return Integer(key, false, fallback, min, max);
}

double MapReader::Number(std::string_view key, bool required, double fallback, double min, double max) {
  const Node* value = Scalar(key, required);
  if (value == nullptr) return fallback;
  const auto number = ParseNumber(value->scalar);
  if (number && *number >= min && *number <= max) return *number;
  Bad(key, *value, NumberRange(min, max));
  return fallback;
}
double MapReader::RequiredNumber(std::string_view key, double min, double max) {
  return Number(key, true, min, min, max);
}
double MapReader::NumberOr(std::string_view key, double fallback, double min, double max) {
  return Number(key, false, fallback, min, max);
}

bool MapReader::BoolOr(std::string_view key, bool fallback) {
  const Node* value = Scalar(key, false);
  if (value == nullptr) return fallback;
  if (value->scalar == "true") return true;
  if (value->scalar != "false") Bad(key, *value, "true or false");
  return value->scalar == "false" ? false : fallback;
}

template <typename T>
T MapReader::Quantity(std::string_view key, bool required, T fallback, std::optional<T> (*parse)(std::string_view),
                      const UnitFamily& family) {
  const Node* value = Scalar(key, required);
  if (value == nullptr) return fallback;
  if (const auto quantity = parse(value->scalar)) return *quantity;
  Report(value->mark, key, fmt::format("{}: {}", key, QuantityProblem(value->scalar, family)));
  return fallback;
}
Bytes MapReader::RequiredBytes(std::string_view key) { return Quantity<Bytes>(key, true, 0, ParseBytes, SizeUnits()); }
Bytes MapReader::BytesOr(std::string_view key, Bytes fallback) {
  return Quantity<Bytes>(key, false, fallback, ParseBytes, SizeUnits());
}
Nanos MapReader::RequiredDuration(std::string_view key) {
  return Quantity<Nanos>(key, true, 0, ParseDuration, TimeUnits());
}
Nanos MapReader::DurationOr(std::string_view key, Nanos fallback) {
  return Quantity<Nanos>(key, false, fallback, ParseDuration, TimeUnits());
}
double MapReader::RequiredBandwidth(std::string_view key) {
  return Quantity<double>(key, true, 0, ParseBandwidth, BandwidthUnits());
}
double MapReader::RequiredFlopRate(std::string_view key) {
  return Quantity<double>(key, true, 0, ParseFlopRate, FlopRateUnits());
}

std::vector<std::string> MapReader::StringsOrNone(std::string_view key) {
  std::vector<std::string> texts;
  const Node* value = Optional(key);
  if (value == nullptr) return texts;
  if (!value->IsSequence()) {
    diagnostics_->Error(value->mark, fmt::format("{}: expected a list, found {}", key, KindName(value->kind)));
  }
  for (const Node& item : value->items) {
    if (item.IsScalar()) {
      texts.push_back(item.scalar);
    } else {
      diagnostics_->Error(item.mark, fmt::format("{}: expected a text, found {}", key, KindName(item.kind)));
    }
  }
  return texts;
}

int MapReader::ChoiceOr(std::string_view key, const std::vector<std::string>& names, int fallback) {
  const Node* value = Scalar(key, false);
  if (value == nullptr) return fallback;
  const auto found = std::find(names.begin(), names.end(), value->scalar);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  diagnostics_->Error(value->mark, fmt::format("{}: unknown value '{}', expected one of {}{}", key, value->scalar,
                                               fmt::join(names, ", "), DidYouMean(value->scalar, names)));
  return fallback;
}

void MapReader::Finish() {
  for (const Node::Entry& entry : node_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    diagnostics_->Error(entry.mark,
                        fmt::format("unknown key '{}' in {}{}", entry.key, what_, DidYouMean(entry.key, known_)));
  }
}

}  // namespace spillway
