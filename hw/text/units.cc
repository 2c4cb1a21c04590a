#include "hw/text/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "hw/text/keys.h"
#include "hw/text/lists.h"

namespace spillway {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Largest first, as the formatters need it.
constexpr Unit kByteUnits[] = {{"TiB", 1024 * kGiB}, {"TB", 1000 * kGB}, {"GiB", kGiB}, {"GB", kGB}, {"MiB", kMiB},
                               {"MB", kMB},          {"KiB", kKiB},      {"kB", kKB},   {"KB", kKB}, {"B", 1}};
constexpr Unit kDecimalByteUnits[] = {{"TB", 1000 * kGB}, {"GB", kGB}, {"MB", kMB}, {"kB", kKB}, {"B", 1}};
constexpr Unit kTimeUnits[] = {{"s", kSecond}, {"ms", kMillisecond}, {"us", kMicrosecond}, {"ns", 1}};

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsDigits(std::string_view number) {
  for (const char c : number) {
    if (!IsDigit(c)) return false;
  }
  return true;
}

// "12.5 GB" -> "12.5" and "GB". Only a leading digit is accepted, so signs, "inf" and "nan" end here.
struct Split {
  std::string_view number, unit;
};
std::optional<Split> SplitQuantity(std::string_view text) {
  double ignored = 0;
  if (text.empty() || !IsDigit(text.front())) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, ignored);
  if (error != std::errc()) return std::nullopt;
  Split split{{text.data(), rest}, {rest, end}};
  if (LeadingZero(split.number)) return std::nullopt;
  while (!split.unit.empty() && split.unit.front() == ' ') split.unit.remove_prefix(1);
  return split;
}

std::optional<std::int64_t> Scale(std::string_view number, std::int64_t factor) {
  std::int64_t result = 0;
  if (IsDigits(number)) {  // exact where a double would round
    const auto count = ParseInteger(number);
    if (!count || __builtin_mul_overflow(*count, factor, &result)) return std::nullopt;
    return result;
  }
  const double value = std::round(*ParseNumber(number) * static_cast<double>(factor));
  if (value >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  if (factor == 1 && value != *ParseNumber(number)) return std::nullopt;  // no half bytes
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  const auto split = SplitQuantity(text);
  if (!split) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name == split->unit) return Scale(split->number, unit.factor);
  }
  return std::nullopt;
}

struct RateUnit {
  std::string_view name;
  double numerator, denominator;  // apart, so that 123 MB/s is 123 / 1000 rounded once
};

std::optional<double> ParseRate(std::string_view text, std::span<const RateUnit> units) {
  const auto split = SplitQuantity(text);
  if (!split) return std::nullopt;
  for (const RateUnit& unit : units) {
    if (unit.name != split->unit) continue;
    const double rate = *ParseNumber(split->number) * unit.numerator / unit.denominator;
    return std::isfinite(rate) ? std::optional<double>(rate) : std::nullopt;
  }
  return std::nullopt;
}

std::uint64_t PowerOfTen(int exponent) {
  std::uint64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

std::uint64_t Magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

std::string FormatRounded(std::int64_t value, std::span<const Unit> units, int digits = 3, bool up = false) {
  const std::uint64_t limit = PowerOfTen(digits);
  std::uint64_t step = 1;  // of the last significant digit
  const std::uint64_t magnitude = Magnitude(value);
  while (magnitude / step >= limit) step *= 10;
  const std::uint64_t rounded = (magnitude + (up ? step - 1 : step / 2)) / step * step;
  const Unit* unit = &units.back();
  for (const Unit& candidate : units) {
    if (rounded < static_cast<std::uint64_t>(candidate.factor)) continue;
    unit = &candidate;
    break;
  }
  const auto factor = static_cast<std::uint64_t>(unit->factor);
  const std::uint64_t whole = rounded / factor;
  int decimals = digits;
  for (std::uint64_t rest = whole; rest > 0 && decimals > 0; rest /= 10) --decimals;
  while (decimals > 0 && PowerOfTen(decimals) > factor) --decimals;
  const char* const sign = value < 0 ? "-" : "";
  if (decimals == 0) return fmt::format("{}{} {}", sign, whole, unit->name);
  const std::uint64_t fraction = rounded % factor / (factor / PowerOfTen(decimals));
  return fmt::format("{}{}.{:0{}} {}", sign, whole, fraction, decimals, unit->name);
}

std::string FormatExact(std::int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) return fmt::format("{} {}", value / unit.factor, unit.name);
  }
  return fmt::format("0 {}", units.back().name);
}

}  // namespace

std::optional<Bytes> ParseBytes(std::string_view text) { return ParseQuantity(text, kByteUnits); }
std::optional<Nanos> ParseDuration(std::string_view text) { return ParseQuantity(text, kTimeUnits); }

std::optional<double> ParseBandwidth(std::string_view text) {
  constexpr RateUnit kUnits[] = {{"MB/s", 1, 1000}, {"GB/s", 1, 1}, {"TB/s", 1000, 1}};
  return ParseRate(text, kUnits);
}

std::optional<double> ParseFlopRate(std::string_view text) {
  constexpr RateUnit kUnits[] = {{"GFLOP/s", 1, 1}, {"TFLOP/s", 1000, 1}};
  return ParseRate(text, kUnits);
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  if (LeadingZero(text)) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, 10);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  if (LeadingZero(text)) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool LeadingZero(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && IsDigits(text);
}

std::string FormatBytes(Bytes bytes) { return FormatRounded(bytes, kDecimalByteUnits); }
std::string FormatBytesUp(Bytes bytes) { return FormatRounded(bytes, kDecimalByteUnits, 4, true); }
std::pair<std::string, std::string> FormatBytesApart(Bytes a, Bytes b) {
  constexpr int kMostDigits = 19;  // of an int64
  for (int digits = 3; digits < kMostDigits; ++digits) {
    std::string of_a = FormatRounded(a, kDecimalByteUnits, digits), of_b = FormatRounded(b, kDecimalByteUnits, digits);
    if (of_a != of_b || a == b) return {std::move(of_a), std::move(of_b)};
  }
  return {FormatBytesExact(a), FormatBytesExact(b)};
}
std::string FormatDuration(Nanos time) { return FormatRounded(time, kTimeUnits); }
std::string FormatBytesExact(Bytes bytes) { return FormatExact(bytes, kByteUnits); }
std::string FormatDurationExact(Nanos time) { return FormatExact(time, kTimeUnits); }

const UnitFamily& SizeUnits() {
  static const UnitFamily kFamily{
      "a size", "16 GiB or 16 GB", kASize, {"B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}};
  return kFamily;
}

const UnitFamily& TimeUnits() {
  static const UnitFamily kFamily{"a duration", "5 us or 1.5 ms", kADuration, {"ns", "us", "ms", "s"}};
  return kFamily;
}

const UnitFamily& BandwidthUnits() {
  static const UnitFamily kFamily{"a bandwidth", "12.5 GB/s", kABandwidth, {"MB/s", "GB/s", "TB/s"}};
  return kFamily;
}

const UnitFamily& FlopRateUnits() {
  static const UnitFamily kFamily{"a computing rate", "15.7 TFLOP/s", kAFlopRate, {"GFLOP/s", "TFLOP/s"}};
  return kFamily;
}

std::string QuantityProblem(std::string_view text, const UnitFamily& family) {
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, unit_at);
  if (LeadingZero(number)) return fmt::format("'{}' begins with a zero; write it without", text);
  if (!text.empty() && unit_at == std::string_view::npos && ParseNumber(text)) {
    return fmt::format("'{}' has no unit; write for example {}", text, family.example);
  }
  if (unit_at != 0 && unit_at != std::string_view::npos && ParseNumber(text.substr(0, unit_at))) {
    std::string_view unit = text.substr(unit_at);
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    if (!Contains(family.units, unit)) {
      return fmt::format("unknown unit '{}', expected one of {}{}", unit, fmt::join(family.units, " "),
                         DidYouMean(unit, family.units));
    }
  }
  return fmt::format("expected {} that fits, such as {}, found '{}'", family.noun, family.example, text);
}

}  // namespace spillway
