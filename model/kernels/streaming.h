// What the laws of memory-bound kernels share: traffic at a fraction of the bandwidth, and what the L2 cache saves.
#ifndef SPILLWAY_MODEL_KERNELS_STREAMING_H_
#define SPILLWAY_MODEL_KERNELS_STREAMING_H_

#include <algorithm>
#include <cmath>
#include <span>

#include "model/cost/kernel_form.h"

namespace spillway {

// Parameters that every memory-bound form has, with the same meaning.
// Latency: the smallest published kernel times are 1.8 us (V100) and 2.3 us (A100), the gap to the next kernel of the
// stream comes on top (xwang233/code-snippet, syncbn-channels-last).
constexpr FormParameter kLatencyParameter{
    "latency", "nanoseconds that a kernel without work takes in a busy stream", 3500, 1500, 20000, true, 0.2};
constexpr FormParameter kBandwidthParameter{
    "bandwidth_fraction", "fraction of the memory bandwidth that large tensors reach", 0.82, 0.1, 1.0, true, 0.15};
constexpr FormParameter kCacheParameter{
    "cache_gain", "how much faster data within half of the L2 cache move: 0.4 = 1.4 times", 0.4, 0.01, 1.0, true, 0.5};

// Whole up to half of the cache, nothing from its full size on: a sweep over more than fits evicts what it would have
// found again.
inline double CachedShare(double touched_bytes, const Chip& chip) {
  return std::clamp(2.0 - 2.0 * touched_bytes / chip.l2_bytes, 0.0, 1.0);
}

// Nanoseconds to move `bytes`, that many different ones being touched.
inline double StreamTime(double bytes, double touched_bytes, const Chip& chip, double fraction, double cache_gain) {
  const double rate = fraction * chip.memory_bandwidth * (1.0 + cache_gain * CachedShare(touched_bytes, chip));
  return bytes / rate;
}

// Two limits that overlap: the larger where they differ, 1.41 times either where they are equal.
inline double Overlapped(double a, double b) { return std::sqrt(a * a + b * b); }

inline Bytes NoWorkspace(const Launch&) { return 0; }

// KernelForm::algorithms of an op that leaves no choice, and of what a form does not serve.
inline constexpr const char* kNameless[] = {""};
inline std::span<const char* const> Nameless(bool serves) {
  return std::span<const char* const>(kNameless).first(serves ? 1 : 0);
}
inline bool ForwardOrBackward(Pass pass) { return pass == Pass::kForward || pass == Pass::kBackward; }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_STREAMING_H_
