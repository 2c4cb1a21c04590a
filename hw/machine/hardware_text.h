// Figures of hardware in profiles: their keys, as tables (hw/text/keys.h), and how they are read and written. Mistakes go
// to the diagnostics, with their places.
#ifndef SPILLWAY_HW_MACHINE_HARDWARE_TEXT_H_
#define SPILLWAY_HW_MACHINE_HARDWARE_TEXT_H_

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "hw/machine/figures.h"
#include "hw/machine/math_peaks.h"
#include "hw/text/document.h"
#include "hw/text/keys.h"

namespace spillway {

// Limits catch slips of unit and of the decimal point: each is far beyond all known hardware. Fractions and factors have
// no unit.
constexpr double kMostError = 10;           // of a model, a curve, a measurement: relative, one standard deviation
constexpr double kLeastDuplexFactor = 0.1;  // hosts with a third were measured

// ---- Where numbers come from: {published: "..."}.

// A YAML text, always quoted: a text from a user may look like anything.
std::string Quoted(const std::string& text);
std::string SourceText(const Source& source);
// The map under the required key `source`.
Source ReadSource(MapReader& reader, Diagnostics& diagnostics);
const KeyTable& SourceKeys();
KeyRow SourceRow();  // the key `source` in the tables of maps that have it

// ---- Peaks of a chip: `peak: 19.5 TFLOP/s`, which is fp32's, or a map by math mode with a source of its own.

struct ChipPeaks {
  double fp32 = 0;
  MathPeaks others;
  Source others_source;  // where `others` has any
};
// The value of the required key `peak`. A peak that is not more than zero is a mistake, and so is an unknown mode.
ChipPeaks ReadPeaks(MapReader& reader, Diagnostics& diagnostics);
const KeyTable& PeakKeys();
KeyRow PeakRow();  // the key `peak`

// ---- Links and their transfer curves.

// The entry of `links` and the maps within it, outer ones first.
const KeyTable& LinkKeys();
const KeyTable& CurveKeys();
const KeyTable& OtherMemoryKeys();
const KeyTable& DuplexKeys();

// One entry of `links`, which leads from one of `hosts` to one of `devices`, by name. An end that is not there is -1.
Link ReadLink(const Node& node, const std::vector<std::string>& hosts, const std::vector<std::string>& devices,
              Diagnostics& diagnostics);

// ---- Shared by the readers of the parts of a profile.

// The row of an error in a table of keys, between 0 and kMostError.
KeyRow ErrorRow(const char* name, const char* usual, const char* meaning);

// "device 'gpu0'", or "device" while it has no name.
inline std::string Called(const char* what, const Node& node) {
  const Node* name = node.Find("name");
  return name != nullptr && name->IsScalar() ? fmt::format("{} '{}'", what, name->scalar) : what;
}

// Reads the items of `list` (none when it is nullptr) by `read`, at least `least` of them, each called `what` in
// messages.
template <typename T, typename ReadItem>
std::vector<T> ReadList(const Node* list, std::size_t least, const std::string& what, Diagnostics& diagnostics,
                        ReadItem read) {
  std::vector<T> values;
  if (list == nullptr) return values;
  if (!list->IsSequence()) {
    diagnostics.Error(list->mark, fmt::format("expected a list, one entry for each {}", what));
  } else if (list->items.size() < least) {
    diagnostics.Error(list->mark, fmt::format("expected at least {} {}{}", least, what, least == 1 ? "" : "s"));
  }
  for (const Node& item : list->items) values.push_back(read(item));
  return values;
}

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_HARDWARE_TEXT_H_
