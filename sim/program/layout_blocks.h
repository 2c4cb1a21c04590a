// An arena for tens of thousands of buffers, as the tiles of streamed ops are. Internal to `layout`.
//
//   items    |   block 0   |   block 1   |   block 2   |    Time is cut into blocks, and each has an Arena of the buffers
//            |--tile--|  |--tile--|   |-tile-|              that live in it. A buffer that lives in several is in each of
//            |-------------map-------------------|          them; whoever lives in one has to look at that one only.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_BLOCKS_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_BLOCKS_H_

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "sim/program/layout_arena.h"

namespace spillway {

// Answers as an Arena does that holds all buffers; sizes and addresses are bytes.
class BlockedArena {
 public:
  BlockedArena() = default;
  // `lifetimes`: of all buffers that may be put, each once. Read here only.
  BlockedArena(const std::vector<Lifetime>& lifetimes, Bytes base) : base_(base), peak_(base) {
    std::int32_t end = 1;
    for (const Lifetime& life : lifetimes) end = std::max(end, life.last);
    width_ = end;
    if (lifetimes.size() >= 2 * kBuffersOfBlock) {
      width_ = std::max<std::int32_t>(1, end / static_cast<std::int32_t>(lifetimes.size() / kBuffersOfBlock));
    }
    std::vector<std::size_t> most((end - 1) / width_ + 1, 0);
    for (const Lifetime& life : lifetimes) {
      for (std::size_t block = First(life); block <= Last(life); ++block) ++most[block];
    }
    for (const std::size_t count : most) blocks_.emplace_back(count, base);
  }

  // As Arena's are.
  template <typename Visit>
  void ForEachGap(const Lifetime& life, Visit visit) const {
    if (First(life) == Last(life)) return blocks_[First(life)].ForEachGap(life, visit);
    std::vector<std::pair<Bytes, Bytes>> taken;
    for (std::size_t block = First(life); block <= Last(life); ++block) AddTaken(blocks_[block], life, taken);
    std::sort(taken.begin(), taken.end());
    Bytes at = base_;
    for (const auto& [begin, end] : taken) {
      if (begin - at >= life.bytes && visit(at, begin)) return;
      at = std::max(at, end);
    }
    visit(at, std::numeric_limits<Bytes>::max());
  }

  Bytes Lowest(const Lifetime& life, Bytes from = 0) const {
    Bytes lowest = 0;
    ForEachGap(life, [&](Bytes begin, Bytes end) {
      lowest = std::max(begin, from);
      return end - lowest >= life.bytes;
    });
    return lowest;
  }

  void Put(const Lifetime& life, Bytes at) {
    for (std::size_t block = First(life); block <= Last(life); ++block) blocks_[block].Put(life, at);
    peak_ = std::max(peak_, at + life.bytes);
  }

  // Drop() puts down again what was lifted last.
  void Lift(const Lifetime& life, Bytes at) {
    lifted_.clear();
    for (std::size_t block = First(life); block <= Last(life); ++block) {
      lifted_.push_back(blocks_[block].Lift(life, at));
    }
  }
  void Drop(const Lifetime& life, Bytes at) {
    for (std::size_t k = 0; k < lifted_.size(); ++k) blocks_[First(life) + k].Drop(lifted_[k], life, at);
    peak_ = std::max(peak_, at + life.bytes);
  }

  Bytes base() const { return base_; }
  Bytes peak() const { return peak_; }

 private:
  // Of those that begin there. Fewer are looked through as fast as blocks are chosen.
  static constexpr std::size_t kBuffersOfBlock = 1024;

  std::size_t First(const Lifetime& life) const { return static_cast<std::size_t>(life.first / width_); }
  std::size_t Last(const Lifetime& life) const { return static_cast<std::size_t>((life.last - 1) / width_); }

  // The stretches that somebody has while `life` lives, those that touch each other as one.
  static void AddTaken(const Arena& block, const Lifetime& life, std::vector<std::pair<Bytes, Bytes>>& taken) {
    std::pair<Bytes, Bytes> stretch{0, 0};
    block.ForEachMeeting(life, [&](Bytes begin, Bytes end) {
      if (begin <= stretch.second) {
        stretch.second = std::max(stretch.second, end);
      } else {
        if (stretch.second > stretch.first) taken.push_back(stretch);
        stretch = {begin, end};
      }
      return false;
    });
    if (stretch.second > stretch.first) taken.push_back(stretch);
  }

  Bytes base_ = 0, peak_ = 0;
  std::int32_t width_ = 1;             // of a block, in items
  std::vector<Arena> blocks_;          // one at least
  std::vector<std::size_t> lifted_{};  // where, by block
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_BLOCKS_H_
