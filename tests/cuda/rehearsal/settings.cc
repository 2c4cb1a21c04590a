#include "tests/cuda/rehearsal/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "hw/text/document.h"

namespace spillway {

namespace {

constexpr double kMostNoise = 1, kSlowest = 0.001, kFastest = 1000;
constexpr const char* kBlanks = " \t";

[[noreturn]] void Refuse(const std::string& what) { throw UserError("SPILLWAY_REHEARSAL: " + what); }

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

double NumberIn(std::string_view key, std::string_view value, double least, double most) {
  const std::optional<double> number = ParseNumber(value);
  if (number && *number >= least && *number <= most) return *number;
  Refuse(fmt::format("{}: expected a number from {} to {}, not '{}'", key, least, most, value));
}

Bytes MemoryIn(std::string_view value) {
  const std::optional<Bytes> bytes = ParseBytes(value);
  if (bytes && *bytes > 0) return *bytes;
  Refuse(fmt::format("memory: expected an amount such as '80 GB', not '{}'", value));
}

void Take(std::string_view key, std::string_view value, RehearsalSettings& settings) {
  if (key == "profile") {
    settings.profile = value;
  } else if (key == "noise") {
    settings.noise = NumberIn(key, value, 0, kMostNoise);
  } else if (key == "memory") {
    settings.memory = MemoryIn(value);
  } else if (key == "speed") {
    settings.speed = NumberIn(key, value, kSlowest, kFastest);
  } else {
    Refuse(fmt::format("unknown word '{}' (known: profile, noise, memory, speed)", key));
  }
}

}  // namespace

RehearsalSettings ParseRehearsalSettings(std::string_view text) {
  RehearsalSettings settings;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view part = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) Refuse(fmt::format("expected 'word=value', not '{}'", part));
    const std::string_view key = Trimmed(part.substr(0, equals)), value = Trimmed(part.substr(equals + 1));
    if (value.empty()) Refuse(fmt::format("{}: there is no value", key));
    if (!seen.insert(key).second) Refuse(fmt::format("{} is there twice", key));
    Take(key, value, settings);
  }
  return settings;
}

}  // namespace spillway
