// Where there is more room than a placement needs: buffers that would wait move to where memory was given back longest ago.
#include <algorithm>

#include "sim/program/layout/placement.h"

namespace spillway {

namespace {

// Finds, in the gaps of an arena, the place whose most recent user left earliest.
class Oldest {
 public:
  Oldest(const LastFrees& frees, const Lifetime& life, Bytes capacity)
      : frees_(frees), life_(life), capacity_(capacity) {}

  // Every place in the gap that can be better than those seen: at its start and behind each earlier user. Returns
  // whether the best possible one has been found.
  //
  // A place over one who left as late as the last user of the best place is no better; the next that can be is behind
  // it.
  bool Try(Bytes begin, Bytes end) {
    end = std::min(end, capacity_);
    if (end - begin < life_.bytes) return false;
    auto user = frees_.At(begin);
    while (age_ > 0 && end - begin >= life_.bytes) {
      const auto latest = TryAt(begin, user);
      begin = latest->end;
      user = latest + 1;
    }
    return age_ == 0;
  }
  Bytes at() const { return at_; }
  bool waits() const { return age_ > 0; }

 private:
  // Looks at a place that begins within the stretch of `user`. Returns one over which no better one lies.
  LastFrees::Iterator TryAt(Bytes begin, LastFrees::Iterator user) {
    const Bytes end = begin + life_.bytes;
    std::uint32_t age = 0;
    auto latest = user;
    for (bool more = true; more; ++user) {
      const std::uint32_t left = user->Delays(life_.stream) ? user->freed_by + 1 : 0;
      if (left >= age) age = left, latest = user;
      more = age < age_ && user->end < end;
    }
    if (age < age_) age_ = age, at_ = begin;
    return latest;
  }

  const LastFrees& frees_;
  const Lifetime& life_;
  Bytes capacity_;
  Bytes at_ = -1;
  // Of the place `at_`: 0, no wait at all; otherwise the list position of the latest free among the earlier users.
  std::uint32_t age_ = LastFrees::kNobody;
};

}  // namespace

bool Placement::SpreadByAge(std::uint32_t k, const LastFrees& frees) {
  const Lifetime& life = lifetimes_[k];
  if (residents_.Holds(life)) return false;
  if (life.frame != kNoFrame) return true;
  Oldest oldest(frees, life, capacity_);
  if (oldest.Try(offsets_[k], offsets_[k] + life.bytes)) return false;
  arena_.ForEachGap(
      life, [&oldest](Bytes begin, Bytes end) { return oldest.Try(begin, end); }, offsets_[k]);
  arena_.Move(life, offsets_[k], oldest.at());
  offsets_[k] = oldest.at();
  return oldest.waits();
}

}  // namespace spillway
