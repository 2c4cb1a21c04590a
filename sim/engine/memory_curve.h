// Live bytes over time from the allocations and frees that each stream reached, for both engines.
#ifndef SPILLWAY_SIM_ENGINE_MEMORY_CURVE_H_
#define SPILLWAY_SIM_ENGINE_MEMORY_CURVE_H_

#include <span>

#include "sim/engine/simulate.h"

namespace spillway {

// Each stream's changes are in time order, so the curve is a merge of at most a handful of sorted lists.
// A key is 2 x time, plus 1 for an allocation: at equal times frees come first (sim/program/program.h, clause 3).
inline constexpr Nanos MemoryKey(Nanos time, bool is_alloc) { return 2 * time + (is_alloc ? 1 : 0); }

// `lists` holds one list per stream, each closed by an entry with key kEndOfMemoryList. Returns the peak; appends
// the points to `curve` if given.
inline constexpr Nanos kEndOfMemoryList = INT64_MAX;
Bytes MergeMemory(std::span<const std::pair<Nanos, Bytes>* const> lists, std::vector<Timeline::MemoryPoint>* curve);

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_MEMORY_CURVE_H_
