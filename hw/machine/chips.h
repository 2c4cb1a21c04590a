// Figures of known devices, by the names that samples give them: what a fit needs to know of a chip before it has a
// machine profile.
#ifndef SPILLWAY_HW_MACHINE_CHIPS_H_
#define SPILLWAY_HW_MACHINE_CHIPS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/machine/figures.h"
#include "hw/machine/math_peaks.h"

namespace spillway {

struct ChipFigures {
  std::string name;               // "V100-SXM2-16GB"
  std::vector<std::string> also;  // other names of the same: what the driver calls it, forms that do not differ here
  double peak_flops = 0;          // fp32 without tensor cores, operations per nanosecond; a multiply-add counts 2
  MathPeaks math_peaks{};         // of products in other arithmetic, where a source states them
  Source math_source{};           // of math_peaks
  double memory_bandwidth = 0;    // bytes per nanosecond
  int multiprocessors = 0;
  double boost_mhz = 0;  // at which the peak is stated
  Bytes l2_cache = 0;
  Bytes memory = 0;
  Source source;
  bool operator==(const ChipFigures&) const = default;
};

// The table that is shipped, hw/chips/chips.yaml (below MachineFolder()). UserError when it cannot be read.
std::vector<ChipFigures> LoadChips();
// The table in `text`; its keys are shown at the head of hw/chips/chips.yaml. UserError with all its mistakes.
std::vector<ChipFigures> ParseChips(const std::string& text, const std::string& file);

// By name or another name, whatever the case; nullptr: not in the table.
const ChipFigures* FindChip(std::span<const ChipFigures> chips, std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_CHIPS_H_
