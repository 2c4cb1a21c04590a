#include "hw/text/quantity.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/text/document.h"
#include "hw/text/keys.h"
#include "hw/text/lists.h"

namespace spillway {

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

bool LeadingZero(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text.find_first_not_of("0123456789") == std::string_view::npos;
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
