// What the laws of a processor's kernels share: memory traffic at the rate of the cache that holds it, matrix products,
// and channels that are computed in whole vectors.
//
// Figures of the chip mean: peak and memory bandwidth of all threads together, `multiprocessors` the threads,
// `l2_bytes` the last cache before memory.
#ifndef SPILLWAY_MODEL_KERNELS_CPU_COST_H_
#define SPILLWAY_MODEL_KERNELS_CPU_COST_H_

#include <cmath>
#include <cstdint>
#include <span>

#include "model/cost/kernel_form.h"

namespace spillway {

// Floats of the widest vector, AVX-512: the channels that blocked layouts keep together. Narrower vectors waste less.
constexpr std::int64_t kVector = 16;
inline double WholeVectors(std::int64_t channels) {
  return static_cast<double>(RoundUp(channels, kVector));
}

// Parameters with the same meaning in every form. Start values and spreads of all forms: what fits to two thousand
// launches on one core with AVX-512 gave for the passes of a convolution and the other ops, and how far these lie apart.
constexpr FormParameter kCpuFixed{"fixed", "nanoseconds that a call takes whatever its size", 2500, 50, 1e6, true, 0.9};
constexpr FormParameter kCpuBandwidth{"bandwidth_fraction",
                                      "fraction of the memory bandwidth that data beyond the caches reach",
                                      0.45,
                                      0.01,
                                      4,
                                      true,
                                      0.6};
constexpr FormParameter kCpuCacheGain{
    "cache_gain", "how many times faster than memory the last cache is, less one", 3.5, 0.01, 20, true, 0.8};
constexpr FormParameter kCpuCacheShare{
    "cache_share",
    "part of the last cache that a kernel's operands fill before they come from memory",
    0.2,
    0.005,
    4,
    true,
    0.6};

struct CpuMemory {
  double fraction = 1, cache_gain = 0, cache_share = 1;
};

// Nanoseconds to move `bytes` at a kernel that touches `touched` different ones. The part that lies in the cache falls
// smoothly, to a half where as much is touched as the cache holds.
inline double CpuTraffic(double bytes, double touched, const Chip& chip, const CpuMemory& memory) {
  const double beyond = touched / (memory.cache_share * chip.l2_bytes);
  const double cached = 1 / (1 + beyond * beyond);
  return bytes / (memory.fraction * chip.memory_bandwidth) * (1 - cached + cached / (1 + memory.cache_gain));
}

// Two times of which the smaller is mostly hidden behind the larger.
inline double Hidden(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_CPU_COST_H_
