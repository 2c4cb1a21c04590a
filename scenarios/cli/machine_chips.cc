#include "scenarios/cli/machine_chips.h"

#include <fmt/format.h>

#include "hw/machine/chips.h"
#include "hw/text/document.h"

namespace spillway {

namespace {

constexpr auto kPublished = Source::Kind::kPublished;
constexpr auto kAssumed = Source::Kind::kAssumed;

ChipLink Pcie4() {
  return {"pcie4-x16",
          {25, 25},
          {0.8, 0.8},
          {kAssumed,
           "PCIe 4.0 x16: 24.8 to 26.3 GB/s to an A100, 25 to 26.3 from it (nvbandwidth, bandwidthTest); both at once "
           "0.8 of the sum, assumed of a desktop"}};
}
ChipLink Pcie4Server() {
  return {
      "pcie4-x16",
      {25, 25},
      {0.49, 0.941},
      {kPublished,
       "A100 on PCIe 4.0 x16: 24.8 to 26.3 GB/s to the device, 25 to 26.3 from it; both at once: NVIDIA/nvbandwidth "
       "issue 11"}};
}
ChipLink Pcie5(Source::Kind kind, const char* on) {
  return {"pcie5-x16",
          {55.4, 55.1},
          {0.954, 0.626},
          {kind, fmt::format(
                     "{}nvbandwidth v0.2 notes on an 8-GPU H800 node: 55.4 and 55.1 GB/s, at once 52.8 and 34.5", on)}};
}
// Both directions share the host's LPDDR5X: 350 of the 674 GB/s that they have alone.
ChipLink Grace() {
  return {
      "nvlink-c2c",
      {377, 297},
      {0.52, 0.52},
      {kPublished,
       "nvbandwidth 0.9 on 2x GH200 96 GB (dnhkng.github.io/posts/gh200-benchmarking); both at once about 350 GB/s, "
       "NVIDIA/nvbandwidth issue 41"}};
}

struct Row {
  const char* name;
  const char* known_as;  // in hw/chips/chips.yaml; "" where that lacks it and the figures stand here
  const char* description;
  std::int64_t total_mib, reserve_mib;
  const char* total_source;
  ChipLink link;
  double peak = 0, bandwidth = 0;  // TFLOP/s, GB/s
  int multiprocessors = 0;
  std::int64_t l2_mib = 0;
  const char* source = "";
};

std::vector<Row> Rows() {
  constexpr const char* kDriver = "nvidia-smi on this card";
  constexpr const char* kCapacity = "the card's capacity less what its like keep back, assumed";
  return {
      {"rtx-3090", "RTX-3090", "GeForce RTX 3090", 24576, 640, kDriver, Pcie4()},
      {"rtx-a6000", "", "RTX A6000", 49140, 640, kDriver, Pcie4(), 38.7, 768, 84, 6,
       "NVIDIA RTX A6000 data sheet; L2 and multiprocessors: GA102 architecture white paper"},
      {"rtx-4090", "RTX-4090", "GeForce RTX 4090", 24564, 640, kDriver, Pcie4()},
      {"a100-pcie-40", "A100-PCIE-40GB", "A100 PCIe with 40 GB", 40536, 640, kDriver, Pcie4Server()},
      {"a100-sxm-40", "A100-SXM4-40GB", "A100 SXM with 40 GB", 40536, 640, kDriver, Pcie4Server()},
      {"a100-pcie-80", "A100-PCIE-80GB", "A100 PCIe with 80 GB", 81920, 640, kDriver, Pcie4Server()},
      {"a100-sxm-80", "A100-SXM4-80GB", "A100 SXM with 80 GB", 81920, 640, kDriver, Pcie4Server()},
      {"h100-pcie", "H100-PCIE-80GB", "H100 PCIe", 81559, 768, kDriver, Pcie5(kAssumed, "as an H800's: ")},
      {"h100-sxm", "H100-SXM-80GB", "H100 SXM", 81559, 768, kDriver, Pcie5(kAssumed, "as an H800's: ")},
      {"h200-sxm", "H200-SXM-141GB", "H200 SXM", 143771, 768, kDriver, Pcie5(kAssumed, "as an H800's: ")},
      {"gh200", "", "GH200 with 96 GB of HBM3", 97280, 768, kDriver, Grace(), 66.9, 4000, 132, 50,
       "NVIDIA GH200 data sheet (peak as 67 TFLOP/s); L2 and multiprocessors as the H100's: its chip"},
      {"b200-sxm", "", "B200 SXM", 183359, 768, kCapacity, Pcie5(kAssumed, "as the H100's; "), 80, 8000, 148, 126,
       "NVIDIA HGX B200 data sheet, per GPU; L2 and multiprocessors: stas00/ml-engineering, of GB200 and B300"},
  };
}

MachineChip ChipOfRow(const Row& row, const std::vector<ChipFigures>& chips) {
  MachineChip chip{.name = row.name,
                   .description = row.description,
                   .total_memory = row.total_mib * kMiB,
                   .reserve = row.reserve_mib * kMiB,
                   .source = {kPublished, row.source},
                   .memory_source = {kAssumed, fmt::format("total: {}; reserve and pool as other profiles have them",
                                                           row.total_source)},
                   .link = row.link};
  if (const ChipFigures* const figures = FindChip(chips, row.known_as)) {
    chip.peak_flops = figures->peak_flops;
    chip.memory_bandwidth = figures->memory_bandwidth;
    chip.multiprocessors = figures->multiprocessors;
    chip.l2_cache = figures->l2_cache;
    chip.source = figures->source;
  } else {
    chip.peak_flops = 1000 * row.peak;
    chip.memory_bandwidth = row.bandwidth;
    chip.multiprocessors = row.multiprocessors;
    chip.l2_cache = row.l2_mib * kMiB;
  }
  return chip;
}

}  // namespace

std::vector<MachineChip> MachineChips() {
  const std::vector<ChipFigures> chips = LoadChips();
  std::vector<MachineChip> all;
  for (const Row& row : Rows()) all.push_back(ChipOfRow(row, chips));
  return all;
}

}  // namespace spillway
