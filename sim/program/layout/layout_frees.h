// Who gave each stretch of an arena back last. Internal to `layout`.
//
// Arena addresses are reused across streams, and a stream that allocates where another one has freed has to wait for it
// (clause 3 of sim/program/program.h). This answers, for a place, for whom; the Waits are layout's to write. Addresses are
// bytes from the arena's start. Stretches cover all of it, in order, without gaps; both operations take time logarithmic in
// their number and linear in those that they meet.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_FREES_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_FREES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

class LastFrees {
 public:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  struct Stretch {  // from the previous stretch's end to `end`
    Bytes end;
    std::uint32_t freed_by;  // item
    StreamId stream;
    // Whether a buffer that `on` allocates here would have to wait.
    bool Delays(StreamId on) const { return freed_by != kNobody && stream != on; }
  };
  using Iterator = std::vector<Stretch>::const_iterator;
  // All of [0, size) is nobody's. REQUIRES of all below: 0 <= begin < end <= size.
  explicit LastFrees(Bytes size) { stretches_.push_back({size, kNobody, 0}); }

  // Notes that `item` of `stream` gave [begin, end) back.
  void Set(Bytes begin, Bytes end, std::uint32_t item, StreamId stream) {
    const std::size_t first = Find(begin);
    std::size_t last = first;
    while (stretches_[last].end < end) ++last;
    std::array<Stretch, 3> now;  // in place of [first, last]
    std::size_t count = 0;
    if (begin > BeginOf(first)) now[count++] = {begin, stretches_[first].freed_by, stretches_[first].stream};
    now[count++] = {end, item, stream};
    if (end < stretches_[last].end) now[count++] = stretches_[last];
    Resize(first, last + 1 - first, count);
    std::copy_n(now.begin(), count, stretches_.begin() + static_cast<std::ptrdiff_t>(first));
  }

  // The stretch that `address` lies in; those above follow.
  Iterator At(Bytes address) const { return stretches_.begin() + static_cast<std::ptrdiff_t>(Find(address)); }

  // Calls visit(stretch) for each that meets [begin, end), in order of address, until it returns false.
  template <typename Visit>
  void ForEach(Bytes begin, Bytes end, Visit visit) const {
    for (std::size_t s = Find(begin); s < stretches_.size(); ++s) {
      if (!visit(stretches_[s]) || stretches_[s].end >= end) return;
    }
  }

 private:
  // The stretch that `address` lies in.
  std::size_t Find(Bytes address) const {
    const auto at = std::upper_bound(stretches_.begin(), stretches_.end(), address,
                                     [](Bytes a, const Stretch& s) { return a < s.end; });
    return static_cast<std::size_t>(at - stretches_.begin());
  }
  Bytes BeginOf(std::size_t s) const { return s == 0 ? 0 : stretches_[s - 1].end; }
  // Makes `count` stretches of the `old` ones at `first`; the caller fills them.
  void Resize(std::size_t first, std::size_t old, std::size_t count) {
    const auto at = stretches_.begin() + static_cast<std::ptrdiff_t>(first);
    if (count > old) stretches_.insert(at, count - old, Stretch{});
    if (count < old) stretches_.erase(at, at + static_cast<std::ptrdiff_t>(old - count));
  }
  std::vector<Stretch> stretches_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_FREES_H_
