// Where buffers lie in an arena, and which gaps that leaves for one more. Internal to `layout`.
//
// The problem is dynamic storage allocation with lifetimes known beforehand: rectangles of given height (bytes) and place
// along one axis (items of the Program, in list order) are put on top of each other so that none overlap. Addresses and
// sizes are bytes, multiples of kAllocationUnit where the callers' are; nothing here rounds.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_ARENA_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_ARENA_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/program/layout/layout_columns.h"

namespace spillway {

// Buffers that have their place. The lowest `base` bytes are nobody's.
//
// Of many buffers most are tiles that live for some dozen items among a hundred neighbours. They are kept a second time,
// by window of list order: window w covers the items [w, w + 2) * kWindow, so that a lifetime of up to kWindow items has
// all its neighbours in the window that its first item is in the first half of.
class Arena {
 public:
  Arena() = default;
  // For up to `most` buffers whose lifetimes end before item `end`.
  Arena(std::size_t most, std::int32_t end, Bytes base) : base_(base), peak_(base) {
    if (most > kFew) windows_.resize(static_cast<std::size_t>(end / kWindow) + 1);
  }

  // Calls visit(begin, end) for each gap of `bytes` that is free throughout [first, last), in order of address, the
  // last one open-ended, until it returns true. Of a buffer that lies at `own` already: as if it did not.
  template <typename Visit>
  void ForEachGap(const Lifetime& life, Visit visit, Bytes own = -1) const {
    NeighboursOf(life).ForEachGap(life, own, base_, visit);
  }

  // The lowest address from `from` on at which the buffer may lie; there always is one, above all others. Does not put it
  // there.
  Bytes Lowest(const Lifetime& life, Bytes from = 0) const {
    Bytes lowest = 0;
    ForEachGap(life, [&](Bytes begin, Bytes end) {
      lowest = std::max(begin, from);
      return end - lowest >= life.bytes;
    });
    return lowest;
  }

  // Places a buffer. REQUIRES: [at, at + bytes) is free throughout its lifetime, as a gap that ForEachGap told of; otherwise
  // two buffers share memory, which verify will find and nothing here.
  void Put(const Lifetime& life, Bytes at) {
    all_.Put(life, at);
    ForEachWindow(life, [&](Columns& window) { window.Put(life, at); });
    peak_ = std::max(peak_, at + life.bytes);
  }

  // REQUIRES: the buffer lies at `from`, and `to` is free, as for Put but for its own bytes.
  void Move(const Lifetime& life, Bytes from, Bytes to) {
    if (from == to) return;
    all_.Move(life, from, to);
    ForEachWindow(life, [&](Columns& window) { window.Move(life, from, to); });
    peak_ = std::max(peak_, to + life.bytes);
  }

  Bytes base() const { return base_; }
  // One past the highest address that was ever taken, `base` at least: bytes that the arena needs.
  Bytes peak() const { return peak_; }

 private:
  static constexpr std::size_t kFew = 4096;     // buffers without windows
  static constexpr std::int32_t kWindow = 128;  // items

  const Columns& NeighboursOf(const Lifetime& life) const {
    const bool within = !windows_.empty() && life.last - life.first <= kWindow;
    return within ? windows_[static_cast<std::size_t>(life.first / kWindow)] : all_;
  }

  template <typename Change>
  void ForEachWindow(const Lifetime& life, Change change) {
    if (windows_.empty()) return;
    const auto first = static_cast<std::size_t>(std::max(0, life.first / kWindow - 1));
    const auto last = static_cast<std::size_t>((life.last - 1) / kWindow);
    for (std::size_t w = first; w <= last; ++w) change(windows_[w]);
  }

  Bytes base_ = 0;
  Bytes peak_ = 0;
  Columns all_;
  std::vector<Columns> windows_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_ARENA_H_
