#include "hw/machine/chips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "hw/machine/hardware_text.h"
#include "hw/machine/shipped.h"
#include "hw/text/document.h"

namespace spillway {
namespace {

constexpr double kFastestClock = 10000;  // MHz

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::vector<std::string> NamesOf(const ChipFigures& chip) {
  std::vector<std::string> names = {chip.name};
  names.insert(names.end(), chip.also.begin(), chip.also.end());
  return names;
}

ChipFigures ReadChip(const Node& node, Diagnostics& diagnostics) {
  const Node* name = node.Find("name");
  MapReader reader(node, diagnostics,
                   name != nullptr && name->IsScalar() ? fmt::format("chip '{}'", name->scalar) : "chip");
  ChipFigures chip;
  chip.name = reader.RequiredString("name");
  chip.also = reader.StringsOrNone("also");
  const ChipPeaks peaks = ReadPeaks(reader, diagnostics);
  chip.peak_flops = peaks.fp32;
  chip.math_peaks = peaks.others;
  chip.math_source = peaks.others_source;
  chip.memory_bandwidth = reader.RequiredBandwidth("memory_bandwidth");
  chip.multiprocessors = static_cast<int>(reader.RequiredInteger("multiprocessors", 1, 10000));
  chip.boost_mhz = reader.RequiredNumber("boost_mhz", 1, kFastestClock);
  chip.l2_cache = reader.RequiredBytes("l2_cache");
  chip.memory = reader.RequiredBytes("memory");
  chip.source = ReadSource(reader, diagnostics);
  reader.Finish();
  reader.Check(chip.memory_bandwidth > 0, "memory_bandwidth", "must be more than zero");
  reader.Check(chip.memory > 0, "memory", "must be more than zero");
  return chip;
}

// A name leads to one chip.
void CheckNames(const Node& list, const std::vector<ChipFigures>& chips, Diagnostics& diagnostics) {
  std::map<std::string, std::string> owners;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    for (const std::string& name : NamesOf(chips[i])) {
      if (name.empty()) continue;
      const auto [owner, is_new] = owners.emplace(Lower(name), chips[i].name);
      if (is_new) continue;
      diagnostics.Error(list.items[i].mark, fmt::format("'{}' is also a name of chip '{}'", name, owner->second));
    }
  }
}

std::vector<ChipFigures> ReadChips(const Document& document) {
  Diagnostics diagnostics(document);
  MapReader reader(document.root, diagnostics, "table of chips");
  std::vector<ChipFigures> chips;
  const Node* list = reader.Required("chips");
  reader.Finish();
  if (list != nullptr && !list->IsSequence()) diagnostics.Error(list->mark, "chips: expected a list");
  if (list != nullptr && list->IsSequence()) {
    for (const Node& item : list->items) chips.push_back(ReadChip(item, diagnostics));
    CheckNames(*list, chips, diagnostics);
  }
  diagnostics.ThrowIfAny();
  return chips;
}

}  // namespace

std::vector<ChipFigures> LoadChips() { return ReadChips(LoadDocument(MachineFolder() + "/chips/chips.yaml")); }

std::vector<ChipFigures> ParseChips(const std::string& text, const std::string& file) {
  return ReadChips(ParseDocument(text, file));
}

const ChipFigures* FindChip(std::span<const ChipFigures> chips, std::string_view name) {
  const std::string wanted = Lower(name);
  for (const ChipFigures& chip : chips) {
    for (const std::string& candidate : NamesOf(chip)) {
      if (Lower(candidate) == wanted) return &chip;
    }
  }
  return nullptr;
}

}  // namespace spillway
