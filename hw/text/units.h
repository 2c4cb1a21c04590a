// Quantities used everywhere, their text form, and messages about text that is no such quantity. MapReader
// (hw/text/document.h) reads them from input files.
//
// Time is whole nanoseconds, memory is whole bytes. Rates are double and chosen so that no factor is needed:
//   1 GB/s  = 1 byte per nanosecond        1 TFLOP/s = 1000 floating-point operations per nanosecond.
// In text, GB = 1e9 bytes and GiB = 2^30 bytes; a bare number is refused where a unit is expected.
#ifndef SPILLWAY_HW_TEXT_UNITS_H_
#define SPILLWAY_HW_TEXT_UNITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway {

using Nanos = std::int64_t;  // duration or point in time, nanoseconds
using Bytes = std::int64_t;  // memory size, bytes

constexpr Bytes kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
constexpr Bytes kKB = 1000, kMB = 1000 * kKB, kGB = 1000 * kMB;
constexpr Nanos kMicrosecond = 1000, kMillisecond = 1000 * kMicrosecond, kSecond = 1000 * kMillisecond;

// An id or a count as what a vector is indexed with; not negative.
constexpr std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

// The least multiple of `step` from `value` on, which is not negative.
constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Each parser takes "<number> <unit>" (space optional) and returns nothing when the text is not exactly that,
// when the unit is missing or unknown, or when the value is negative or does not fit. A whole number with a leading zero
// is refused by all of them: YAML's 010 is eight to some and ten to others.
std::optional<Bytes> ParseBytes(std::string_view text);           // B kB KB MB GB TB KiB MiB GiB TiB
std::optional<Nanos> ParseDuration(std::string_view text);        // ns us ms s
std::optional<double> ParseBandwidth(std::string_view text);      // MB/s GB/s TB/s -> bytes per nanosecond
std::optional<double> ParseFlopRate(std::string_view text);       // GFLOP/s TFLOP/s -> operations per nanosecond
std::optional<std::int64_t> ParseInteger(std::string_view text);  // decimal digits only: 0x10 is refused
std::optional<double> ParseNumber(std::string_view text);         // finite decimal number
// Whether a whole number, with a sign or without, begins with a zero.
bool LeadingZero(std::string_view text);

// How messages and tables of keys call one kind of quantity.
struct UnitFamily {
  const char* noun;     // "a size"
  const char* example;  // "16 GiB or 16 GB"
  const char* value;    // both, as tables of keys have it (hw/text/keys.h)
  std::vector<std::string> units;
};
const UnitFamily& SizeUnits();
const UnitFamily& TimeUnits();
const UnitFamily& BandwidthUnits();
const UnitFamily& FlopRateUnits();

// Why the family's parser refuses a text: no unit, an unknown one with the nearest known, or no quantity at all.
// REQUIRES: the parser refuses it.
std::string QuantityProblem(std::string_view text, const UnitFamily& family);

// For people: three significant digits, decimal units ("16.1 GB", "2.05 s", "310 us").
std::string FormatBytes(Bytes bytes);
std::string FormatDuration(Nanos time);
// Four digits, rounded up: as a limit, still enough.
std::string FormatBytesUp(Bytes bytes);
// Two sizes in one message: as many digits from three up as it takes to tell them apart.
std::pair<std::string, std::string> FormatBytesApart(Bytes a, Bytes b);
// For files that are read again: the largest binary or decimal unit that represents the value exactly.
std::string FormatBytesExact(Bytes bytes);
std::string FormatDurationExact(Nanos time);

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_UNITS_H_
