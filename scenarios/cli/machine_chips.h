// The chips that `spillway machine` knows: what a data sheet says of them, and the link that their hosts have.
//
// Tested by cli_machine_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_MACHINE_CHIPS_H_
#define SPILLWAY_SCENARIOS_CLI_MACHINE_CHIPS_H_

#include <array>
#include <string>
#include <vector>

#include "hw/machine/figures.h"

namespace spillway {

struct ChipLink {
  const char* name;
  std::array<double, 2> rate;  // by Direction, bytes per nanosecond; of large copies from pinned memory, nothing beside
  std::array<double, 2> duplex;
  Source source;
};

struct MachineChip {
  std::string name;         // "rtx-4090"
  std::string description;  // "GeForce RTX 4090"
  double peak_flops = 0;    // fp32 without tensor cores, operations per nanosecond
  double memory_bandwidth = 0;
  int multiprocessors = 0;
  Bytes l2_cache = 0;
  Bytes total_memory = 0;  // as the driver reports it
  Bytes reserve = 0;       // assumed
  Source source, memory_source;
  ChipLink link;
};

// In the order of their age. The figures of chips that hw/chips/chips.yaml has are read from there.
std::vector<MachineChip> MachineChips();

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_MACHINE_CHIPS_H_
