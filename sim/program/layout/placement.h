// Offline dynamic storage allocation: addresses for buffers whose lifetimes are known. Internal to `layout`.
//
// A buffer is a rectangle, as in layout_columns.h: items [first, last) in list order, addresses [offset, offset +
// bytes). No two rectangles may overlap. Example, in order of placement:
//
//   address
//    30 |     [------B------)          A = {.bytes = 10, .first =  0, .last = 100}   offset  0   resident region
//    20 |     [--C---)                 C = {.bytes = 20, .first = 20, .last =  50}   offset 10   largest first, at its
//    10 |     [--C---)[--D--)          B = {.bytes = 10, .first = 20, .last =  80}   offset 30   lowest free address
//     0 |[-----------A-----------)     D = {.bytes = 10, .first = 50, .last =  80}   offset 10
//       +----------------------------> items
//        0    20     50     80   100   peak 40
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_PLACEMENT_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_PLACEMENT_H_

#include <span>
#include <vector>

#include "sim/program/layout/layout_arena.h"
#include "sim/program/layout/layout_frees.h"

namespace spillway {

// The lowest addresses, for buffers that every buffer meets, parameters above all: a third of the buffers of a training step.
// They lie side by side, and no search looks at them. That costs no bytes: nobody else could have their addresses.
class ResidentRegion {
 public:
  explicit ResidentRegion(const std::vector<Lifetime>& lifetimes);
  bool Holds(const Lifetime& life) const {
    return life.frame == kNoFrame && life.first < first_free_ && life.last > last_alloc_;
  }
  Bytes size() const { return size_; }  // the other buffers lie above

 private:
  std::int32_t first_free_ = std::numeric_limits<std::int32_t>::max();  // items, of all buffers
  std::int32_t last_alloc_ = 0;
  Bytes size_ = 0;
};

class Placement {
 public:
  // `capacity` 0: as few bytes as possible. `lifetimes` must outlive this.
  Placement(const std::vector<Lifetime>& lifetimes, Bytes capacity);

  // Places each buffer at the lowest address free throughout its lifetime: largest first, then by bytes x items, then those
  // first that are live when most is. If that goes beyond `capacity`, another round places first the buffer that did (after
  // the first round: the largest that did), until so many steps are spent. Keeps the best placement that was carried to its
  // end. If that is too high, and no frames hold buffers together, buffers move (repair.h). Returns the peak. Buffers of one frame (sections of a tensor) are placed at once, at the lowest address at which all of them
  // find their places free.
  Bytes PlaceCompactly();

  // Takes a placement below `capacity` apart again, so that fewer buffers wait. Called for each buffer in order of
  // allocation, with the frees before it. If the buffer would wait for a kernel or copy on another stream, it moves to
  // the place whose last user left longest ago; all others stay, so there always is one. Returns whether it has to wait
  // even there. Buffers of frames stay where they are.
  bool SpreadByAge(std::uint32_t k, const LastFrees& frees);

  Bytes offset(std::uint32_t k) const { return offsets_[k]; }  // of lifetimes[k]

 private:
  using Order = std::vector<std::uint32_t>;  // indices into the lifetimes; the first buffer of a frame stands for all
  using Offsets = std::vector<Bytes>;        // by lifetime

  Offsets ResidentOffsets() const;
  template <typename First, typename Key>
  Order LargestFirst(First first, Key key) const;
  template <typename Key>
  Order LargestFirst(Key key) const;
  Order FullestFirst() const;
  struct Round;
  Round Begin(Order order) const;
  bool GoOn(Round& round, Bytes beyond) const;
  void PlaceInOneRound(Order by_size);
  void TryRounds(Order order);
  void TryMoves();
  int PlaceNext(std::uint32_t k, Arena& arena, Offsets& offsets) const;
  int PlaceFrame(std::span<const std::uint32_t> members, Arena& arena, Offsets& offsets) const;
  Bytes EndOf(std::uint32_t k, const Offsets& offsets) const;
  std::span<const std::uint32_t> Members(const std::uint32_t& k) const;
  void Keep(Round round);
  std::uint32_t LargestAboveCapacity(const Offsets& offsets) const;

  const std::vector<Lifetime>& lifetimes_;
  Bytes capacity_;
  std::int64_t most_steps_;
  std::int32_t end_;  // items
  ResidentRegion residents_;
  Offsets resident_offsets_;   // -1 for the others
  std::vector<Order> frames_;  // by frame: its lifetimes
  Bytes peak_;                 // of the best placement seen, as are the next two
  Arena arena_;
  Offsets offsets_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_PLACEMENT_H_
