// Typed reading of the maps of a document, with a message for everything that is not as expected.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "hw/text/lists.h"
#include "hw/text/units.h"

namespace spillway {

namespace {

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "true") return true;
  return text == "false" ? std::optional(false) : std::nullopt;
}

// As an int, as choices are.
std::optional<int> ChoiceIn(const std::vector<std::string>& names, const std::string& name) {
  const auto index = IndexIn(names, name);
  return index ? std::optional(static_cast<int>(*index)) : std::nullopt;
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

MapReader::MapReader(const Node& node, Diagnostics& diagnostics, std::string what, const KeyTable& keys)
    : MapReader(node, diagnostics, std::move(what)) {
  keys_ = &keys;
}

MapReader MapReader::ItemReader(const Node& map, std::string_view key) const {
  MapReader reader(map, *diagnostics_, std::string(key));
  reader.keys_ = keys_;
  reader.item_ = true;
  return reader;
}

const KeyRow* MapReader::Row(std::string_view key) const { return keys_ == nullptr ? nullptr : keys_->Find(key); }

void MapReader::NotAsListed(std::string_view key, const std::string& problem) const {
  throw std::logic_error(fmt::format("the table of keys of '{}' lies about '{}': {}", keys_->title, key, problem));
}

void MapReader::Ask(std::string_view key) {
  known_.emplace_back(key);
  if (keys_ != nullptr && Row(key) == nullptr) NotAsListed(key, "it is read and not listed");
}

void MapReader::MustBe(std::string_view key, const std::string& value) const {
  const KeyRow* row = Row(key);
  if (row == nullptr || row->value == value || row->value.starts_with(value + ", ")) return;
  NotAsListed(key, fmt::format("listed as '{}', read as '{}'", row->value, value));
}

template <typename T>
void MapReader::MustDefaultTo(std::string_view key, const T& fallback, const std::optional<T>& given) const {
  if (item_ || !given || *given == fallback) return;
  NotAsListed(key, fmt::format("not '{}' without it", Row(key)->otherwise));
}

const Node* MapReader::Optional(std::string_view key) {
  Ask(key);
  const Node* value = node_->Find(key);
  return value != nullptr && value->kind != Node::Kind::kNull ? value : nullptr;
}

const Node* MapReader::Required(std::string_view key) {
  const Node* value = Optional(key);
  demanded_.emplace_back(key);
  if (value != nullptr || !is_map_) return value;
  const KeyRow* row = Row(key);
  if (row != nullptr && !item_ && !row->otherwise.starts_with(kRequiredKey)) NotAsListed(key, "it is required");
  // A value that is not there has no place: the parser gives that of what comes next, lines below.
  const auto entry =
      std::find_if(node_->entries.begin(), node_->entries.end(), [&](const Node::Entry& e) { return e.key == key; });
  if (entry != node_->entries.end()) {
    const Mark at = entry->value.mark.line == entry->mark.line ? entry->value.mark : entry->mark;
    diagnostics_->Error(at, fmt::format("'{}' in {} has no value", key, what_));
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
  Report(value.mark, key,
         fmt::format("{}: expected {}, found '{}'{}", key, expected, value.scalar,
                     LeadingZero(value.scalar) ? ", which is eight to some and ten to others: no leading zeros" : ""));
}

void MapReader::Check(bool holds, std::string_view key, std::string_view problem) {
  const Node* value = node_->Find(key);
  if (holds || value == nullptr || value->kind == Node::Kind::kNull) return;
  if (Contains(reported_, key)) return;
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
  const KeyRow* row = Row(key);
  if (row != nullptr && !fallback.empty() && row->otherwise != fallback) {
    NotAsListed(key, fmt::format("'{}' without it", fallback));
  }
  return value != nullptr ? value->scalar : fallback;
}

std::int64_t MapReader::Integer(std::string_view key, bool required, std::int64_t fallback, std::int64_t min,
                                std::int64_t max) {
  const Node* value = Scalar(key, required);
  MustBe(key, WholeNumberFrom(min, max));
  if (const KeyRow* row = required ? nullptr : Row(key)) MustDefaultTo(key, fallback, ParseInteger(row->otherwise));
  if (value == nullptr) return fallback;
  const auto number = ParseInteger(value->scalar);
  if (number && *number >= min && *number <= max) return *number;
  Bad(key, *value, WholeNumberFrom(min, max));
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
  MustBe(key, NumberFrom(min, max));
  if (const KeyRow* row = required ? nullptr : Row(key)) MustDefaultTo(key, fallback, ParseNumber(row->otherwise));
  if (value == nullptr) return fallback;
  const auto number = ParseNumber(value->scalar);
  if (number && *number >= min && *number <= max) return *number;
  Bad(key, *value, NumberFrom(min, max));
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
  MustBe(key, kTrueOrFalse);
  if (const KeyRow* row = Row(key)) MustDefaultTo(key, fallback, ParseBool(row->otherwise));
  if (value == nullptr) return fallback;
  const std::optional<bool> yes = ParseBool(value->scalar);
  if (!yes) {
    Report(value->mark, key,
           fmt::format("{}: expected {}, found '{}'{}", key, kTrueOrFalse, value->scalar,
                       DidYouMean(value->scalar, {"true", "false"})));
  }
  return yes.value_or(fallback);
}

template <typename T>
T MapReader::Quantity(std::string_view key, bool required, T fallback, std::optional<T> (*parse)(std::string_view),
                      const UnitFamily& family) {
  const Node* value = Scalar(key, required);
  MustBe(key, family.value);
  if (const KeyRow* row = required ? nullptr : Row(key)) MustDefaultTo(key, fallback, parse(row->otherwise));
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
double MapReader::FlopRateOr(std::string_view key, double fallback) {
  return Quantity<double>(key, false, fallback, ParseFlopRate, FlopRateUnits());
}

std::vector<std::string> MapReader::StringsOrNone(std::string_view key) {
  std::vector<std::string> texts;
  const Node* value = Optional(key);
  if (value == nullptr) return texts;
  if (!value->IsSequence()) {
    Report(value->mark, key, fmt::format("{}: expected a list, found {}", key, KindName(value->kind)));
  }
  for (const Node& item : value->items) {
    if (item.IsScalar()) {
      texts.push_back(item.scalar);
    } else {
      Report(item.mark, key, fmt::format("{}: expected a text, found {}", key, KindName(item.kind)));
    }
  }
  return texts;
}

int MapReader::ChoiceOr(std::string_view key, const std::vector<std::string>& names, int fallback) {
  const Node* value = Scalar(key, false);
  MustBe(key, OneOf(names));
  if (const KeyRow* row = Row(key)) MustDefaultTo(key, fallback, ChoiceIn(names, row->otherwise));
  if (value == nullptr) return fallback;
  if (const auto choice = ChoiceIn(names, value->scalar)) return *choice;
  diagnostics_->Error(value->mark, fmt::format("{}: unknown value '{}', expected {}{}", key, value->scalar,
                                               OneOf(names), DidYouMean(value->scalar, names)));
  return fallback;
}

void MapReader::Finish() {
  for (const KeyTable* table = is_map_ ? keys_ : nullptr; table != nullptr; table = table->also) {
    for (const KeyRow& row : table->keys) {
      if (!Contains(known_, row.name)) NotAsListed(row.name, "nobody reads it");
      const bool missing = row.otherwise == kRequiredKey && node_->Find(row.name) == nullptr;
      if (missing && !Contains(demanded_, row.name)) NotAsListed(row.name, "it is not required");
    }
  }
  for (const Node::Entry& entry : node_->entries) {
    if (Contains(known_, entry.key)) continue;
    diagnostics_->Error(entry.mark,
                        fmt::format("unknown key '{}' in {}{}", entry.key, what_, DidYouMean(entry.key, known_)));
  }
}

}  // namespace spillway
