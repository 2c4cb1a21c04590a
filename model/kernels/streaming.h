// What the laws of memory-bound kernels share: traffic at a fraction of the bandwidth, and what the L2 cache saves.
#ifndef SPILLWAY_MODEL_KERNELS_STREAMING_H_
#define SPILLWAY_MODEL_KERNELS_STREAMING_H_

#include <algorithm>

#include "model/kernels/law.h"

namespace spillway {

// The first rows of every memory-bound form. `bandwidth` and its `spread` differ between forms.
// Latency: the smallest published kernel times are 1.8 us (V100) and 2.3 us (A100), the gap to the next kernel of the
// stream comes on top (xwang233/code-snippet, syncbn-channels-last).
constexpr auto StreamRows(double bandwidth, double spread) {
  return ParameterTable{
      Row{"latency", "nanoseconds that a kernel without work takes in a busy stream", 3500, 1500, 20000, 0.2},
      Row{"bandwidth_fraction", "fraction of the memory bandwidth that large tensors reach", bandwidth, 0.1, 1.0,
          spread},
      Row{"cache_gain", "how much faster data within half of the L2 cache move: 0.4 = 1.4 times", 0.4, 0.01, 1.0, 0.5},
  };
}
inline constexpr auto kStreamRows = StreamRows(0.82, 0.15);
using StreamValues = ParameterValues<kStreamRows>;

// Whole up to half of the cache, nothing from its full size on: a sweep over more than fits evicts what it would have
// found again.
inline double CachedShare(double bytes, const Chip& chip) {
  return std::clamp(2.0 - 2.0 * bytes / chip.l2_bytes, 0.0, 1.0);
}

// Nanoseconds to move `bytes`, all of them different ones.
inline double StreamTime(double bytes, const Chip& chip, StreamValues p) {
  return bytes / (p["bandwidth_fraction"] * chip.memory_bandwidth * (1.0 + p["cache_gain"] * CachedShare(bytes, chip)));
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_STREAMING_H_
