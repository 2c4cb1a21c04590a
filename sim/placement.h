// Offline dynamic storage allocation: addresses for buffers whose lifetimes are known.
//
//   address
//     ^   |-----kept map------------------------------|
//     |   |--transient--|     |--swapped--|  |--swapped in--|
//     +-----------------------------------------------------> items (list order)
#ifndef SPILLWAY_SIM_PLACEMENT_H_
#define SPILLWAY_SIM_PLACEMENT_H_

#include <vector>

#include "sim/program.h"

namespace spillway {

struct Lifetime {  // of one buffer, in items: [first, last)
  BufferId buffer = kNoBuffer;
  Bytes bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  StreamId alloc_stream = 0;
  StreamId free_stream = 0;
};

// By buffer of `lifetimes`. -1 nowhere.
using Offsets = std::vector<Bytes>;

// Who gave each stretch of memory back last.
class LastFrees {
 public:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  struct Stretch {  // from the previous stretch's end to `end`
    Bytes end;
    std::uint32_t freed_by;  // item
    StreamId stream;
  };
  explicit LastFrees(Bytes size) { stretches_.push_back({size, kNobody, 0}); }
  void Set(Bytes begin, Bytes end, std::uint32_t item, StreamId stream);
  // The stretches that meet [begin, end), in order of address.
  template <typename Visit>
  void ForEach(Bytes begin, Bytes end, Visit visit) const {
    for (std::size_t s = Find(begin); s < stretches_.size(); ++s) {
      visit(stretches_[s]);
      if (stretches_[s].end >= end) return;
    }
  }

 private:
  std::size_t Find(Bytes address) const;
  void Split(Bytes address);
  std::vector<Stretch> stretches_;
};

// Each buffer at the lowest address free throughout its lifetime: largest first, then by size x duration. While that
// goes beyond `capacity` (0 = take what comes), the largest buffer that ended above it is placed first in another round.
// Returns the peak of the best placement seen.
Bytes PlaceCompactly(const std::vector<Lifetime>& lifetimes, Bytes capacity, Offsets& offsets);

// Takes a placement below `capacity` apart again: in list order, a buffer that would wait for a kernel or copy on
// another stream moves to the place whose last user left longest ago. Everything else staying where it is, it always
// has a place.
void SpreadByAge(const std::vector<Lifetime>& lifetimes, Bytes capacity, Offsets& offsets);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLACEMENT_H_
