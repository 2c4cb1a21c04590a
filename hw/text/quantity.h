// Quantities with units in input files: how each kind is called in messages and in tables of keys, and what is wrong with
// a text that is none. hw/text/units.h has the parsers, MapReader (hw/text/document.h) the getters.
#ifndef SPILLWAY_HW_TEXT_QUANTITY_H_
#define SPILLWAY_HW_TEXT_QUANTITY_H_

#include <string>
#include <string_view>
#include <vector>

namespace spillway {

// The units of one kind of quantity.
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

// Whether a whole number begins with a zero: "010" is eight to some readers of YAML and ten to others.
bool LeadingZero(std::string_view text);

// What is wrong with the text of a quantity: no unit, an unknown one with the nearest known, or no quantity at all.
// REQUIRES: the family's parser refused it.
std::string QuantityProblem(std::string_view text, const UnitFamily& family);

}  // namespace spillway

#endif  // SPILLWAY_HW_TEXT_QUANTITY_H_
