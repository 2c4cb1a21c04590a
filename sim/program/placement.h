// Offline dynamic storage allocation: addresses for buffers whose lifetimes are known. Internal to `layout`.
//
//   address
//     ^   |-----kept map------------------------------|
//     |   |--transient--|     |--swapped--|  |--swapped in--|
//     +-----------------------------------------------------> items (list order)
#ifndef SPILLWAY_SIM_PROGRAM_PLACEMENT_H_
#define SPILLWAY_SIM_PROGRAM_PLACEMENT_H_

#include <vector>

#include "sim/program/layout_blocks.h"
#include "sim/program/layout_frees.h"

namespace spillway {

// What is there (almost) throughout, parameters above all, lies side by side at the bottom and need not be looked at
// again: a third of the buffers of a training step.
class Bottom {
 public:
  explicit Bottom(const std::vector<Lifetime>& lifetimes);
  bool Holds(const Lifetime& life) const { return life.frame == kNoFrame && life.last - life.first > longest_; }
  Bytes base() const { return base_; }

 private:
  std::int32_t longest_;
  Bytes base_ = 0;
};

class Placement {
 public:
  // `capacity` 0: as few bytes as possible.
  Placement(const std::vector<Lifetime>& lifetimes, Bytes capacity);

  // Each buffer at the lowest address free throughout its lifetime: largest first, then by size x duration. While that
  // goes beyond `capacity`, the buffer that did is placed first in another round (of the first round the largest one), until
  // so many steps are spent. Keeps the best placement that was carried to its end and returns its peak. Buffers of one frame
  // (sections of a tensor) are placed at once, at the lowest address at which all of them find theirs free.
  Bytes PlaceCompactly();

  // Takes a placement below `capacity` apart again. Called for each buffer in order of allocation, with the frees
  // before it: if the buffer would wait for a kernel or copy on another stream, it moves to the place whose last user
  // left longest ago. Everything else staying where it is, it always has a place. Returns whether it has to wait even
  // there. Buffers of frames stay where they are.
  bool SpreadByAge(std::uint32_t k, const LastFrees& frees);

  Bytes offset(std::uint32_t k) const { return offsets_[k]; }  // of lifetimes[k]

 private:
  using Order = std::vector<std::uint32_t>;  // indices into the lifetimes
  using Offsets = std::vector<Bytes>;        // by lifetime

  Offsets AtTheBottom() const;
  template <typename Key>
  Order LargestFirst(Key key) const;
  struct Round;
  Round Begin(Order order) const;
  bool GoOn(Round& round, Bytes beyond) const;
  std::int64_t MostSteps() const;
  bool AreTooManyForRounds(std::size_t buffers) const;
  void PlaceInOneRound(Order by_size);
  void TryRounds(Order order);
  int PlaceNext(std::uint32_t k, BlockedArena& arena, Offsets& offsets) const;
  Bytes EndOf(std::uint32_t k, const Offsets& offsets) const;
  int PlaceFrame(const Order& members, BlockedArena& arena, Offsets& offsets) const;
  std::uint32_t LeaderOf(std::uint32_t k) const;
  void Keep(BlockedArena arena, Offsets offsets);
  std::uint32_t LargestAboveCapacity(const Offsets& offsets) const;

  const std::vector<Lifetime>& lifetimes_;
  Bytes capacity_;
  Bottom bottom_;
  Offsets bottom_offsets_;
  std::vector<Order> frames_;  // by frame: its lifetimes
  Bytes peak_;                 // of the best placement seen, as are the next two
  BlockedArena arena_;
  Offsets offsets_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_PLACEMENT_H_
