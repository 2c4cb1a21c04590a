#include <algorithm>
#include <cassert>

#include "sim/engine/engine_parts.h"

namespace spillway {

namespace {

using Entry = std::pair<Nanos, Bytes>;
constexpr std::size_t kMaxLists = 16;

// kCount = 0: any number of lists. Fixed counts let the compiler keep the heads in registers.
template <std::size_t kCount, bool kCurve>
Bytes Merge(std::span<const Entry* const> lists, std::vector<Timeline::MemoryPoint>* curve) {
  const std::size_t count = kCount != 0 ? kCount : lists.size();
  const Entry* head[kMaxLists];
  Nanos key[kMaxLists];
  for (std::size_t s = 0; s < count; ++s) {
    head[s] = lists[s];
    key[s] = head[s]->first;
  }
  Bytes live = 0, peak = 0;
  for (;;) {
    std::size_t best = 0;
    Nanos smallest = key[0];
    for (std::size_t s = 1; s < count; ++s) {
      best = key[s] < smallest ? s : best;
      smallest = std::min(smallest, key[s]);
    }
    if (smallest == kEndOfMemoryList) return peak;
    live += head[best]->second;
    peak = std::max(peak, live);
    if constexpr (kCurve) curve->push_back({smallest / 2, live});
    key[best] = (++head[best])->first;
  }
}

}  // namespace

Bytes MergeMemory(std::span<const Entry* const> lists, std::vector<Timeline::MemoryPoint>* curve) {
  assert(!lists.empty() && lists.size() <= kMaxLists);
  if (curve != nullptr) return Merge<0, true>(lists, curve);
  switch (lists.size()) {
    case 2:
      return Merge<2, false>(lists, nullptr);
    case 3:
      return Merge<3, false>(lists, nullptr);
    default:
      return Merge<0, false>(lists, nullptr);
  }
}

}  // namespace spillway
