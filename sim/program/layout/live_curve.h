// How many bytes are live when, in list order. Internal to `layout`. Bytes; items as in layout_columns.h.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_LIVE_CURVE_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_LIVE_CURVE_H_

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "sim/program/layout/layout_columns.h"

namespace spillway {

// Live bytes only grow at allocations, so that these are all that is kept, with the maxima of 2, 4, 8, ... in a row.
class LiveCurve {
 public:
  explicit LiveCurve(const std::vector<Lifetime>& lifetimes) {
    std::vector<std::pair<std::int32_t, Bytes>> changes;
    for (const Lifetime& life : lifetimes) {
      changes.push_back({life.first, life.bytes});
      changes.push_back({life.last, -life.bytes});
    }
    std::sort(changes.begin(), changes.end());
    most_.emplace_back();
    Bytes live = 0;
    for (const auto& [item, bytes] : changes) {
      live += bytes;
      if (bytes < 0) continue;
      allocs_.push_back(item);
      most_[0].push_back(live);
    }
    for (std::size_t row = 2; row <= allocs_.size(); row *= 2) {
      const std::vector<Bytes>& halves = most_.back();
      std::vector<Bytes> whole(allocs_.size() - row + 1);
      for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = std::max(halves[i], halves[i + row / 2]);
      most_.push_back(std::move(whole));
    }
  }

  // The most while the buffer, one of the lifetimes, is live. Two look-ups.
  Bytes MostDuring(const Lifetime& life) const {
    const std::size_t begin = Before(life.first), end = Before(life.last);
    const auto row = static_cast<std::size_t>(std::bit_width(end - begin)) - 1;
    return std::max(most_[row][begin], most_[row][end - (std::size_t{1} << row)]);
  }

 private:
  // Allocations before the item.
  std::size_t Before(std::int32_t item) const {
    return static_cast<std::size_t>(std::lower_bound(allocs_.begin(), allocs_.end(), item) - allocs_.begin());
  }

  std::vector<std::int32_t> allocs_;      // items, ascending
  std::vector<std::vector<Bytes>> most_;  // [r][i]: of the 2^r allocations from i on
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_LIVE_CURVE_H_
