#include "reports/tables/text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace spillway {

std::string ShortNumber(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  if (magnitude >= 0.9995) return fmt::format("{:.2f}", value);
  return value == 0 ? "0" : fmt::format("{:.3f}", value);
}

std::string Percent(double fraction) {
  const double percent = std::round(fraction * 100);
  return fmt::format("{:.0f} %", percent == 0 ? 0 : percent);
}

std::string SecondsText(Nanos time) {
  const Nanos magnitude = time < 0 ? -time : time;
  return fmt::format("{}{}.{:09}", time < 0 ? "-" : "", magnitude / kSecond, magnitude % kSecond);
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string JsonString(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace spillway
