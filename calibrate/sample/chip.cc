#include "calibrate/sample/chip.h"

namespace spillway {

Chip ChipOf(const ChipFigures& figures) {
  return {.peak_flops = figures.peak_flops,
          .memory_bandwidth = figures.memory_bandwidth,
          .multiprocessors = static_cast<double>(figures.multiprocessors),
          .l2_bytes = static_cast<double>(figures.l2_cache)};
}

}  // namespace spillway
