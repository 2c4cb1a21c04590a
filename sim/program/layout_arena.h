// Where buffers lie in an arena, and which gaps that leaves for one more. Internal to `layout`.
//
// The problem is dynamic storage allocation with lifetimes known beforehand: rectangles of given height (bytes) and place
// along one axis (items of the Program, in list order) are put on top of each other so that none overlap. Addresses and
// sizes are bytes, multiples of kAllocationUnit where the callers' are; nothing here rounds.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_ARENA_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_ARENA_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

// Of one buffer, in items: live from `first`, its allocation, until just before `last`, its free.
struct Lifetime {
  BufferId buffer = kNoBuffer;
  Bytes bytes = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
  StreamId stream = 0;             // of the allocation
  std::uint32_t frame = kNoFrame;  // as in Buffer: of one frame all lie `distance` behind one address
  Bytes distance = 0;
};

// Buffers that have their place, in order of address. The lowest `base` bytes are nobody's.
//
// A search looks at the lifetimes of hundreds of neighbours to find the few that matter. They are kept in columns, so
// that the compiler compares several at once.
class Arena {
 public:
  Arena() = default;
  // REQUIRES: never more than `most` buffers at once.
  Arena(std::size_t most, Bytes base)
      : base_(base),
        peak_(base),
        first_((most + kChunk - 1) / kChunk * kChunk, kNever),
        last_(first_.size(), 0),
        begin_(first_.size()),
        end_(first_.size()) {}

  // Calls visit(begin, end) for each gap of `bytes` that is free throughout [first, last), in order of address, the
  // last one open-ended, until it returns true.
  template <typename Visit>
  void ForEachGap(const Lifetime& life, Visit visit) const {
    Bytes at = base_;
    const bool done = ForEachMeeting(life, [&](Bytes begin, Bytes end) {
      if (begin - at >= life.bytes && visit(at, begin)) return true;
      at = std::max(at, end);
      return false;
    });
    if (!done) visit(at, std::numeric_limits<Bytes>::max());
  }

  // Calls visit(begin, end) for each buffer whose lifetime meets `life`, in order of address, until it returns true; whether
  // it did.
  template <typename Visit>
  bool ForEachMeeting(const Lifetime& life, Visit visit) const {
    for (std::size_t from = 0; from < count_; from += kChunk) {
      const Bytes* const begin = &begin_[from];
      const Bytes* const end = &end_[from];
      for (std::uint64_t meets = Meeting(from, life); meets != 0; meets &= meets - 1) {
        const int k = std::countr_zero(meets);
        if (visit(begin[k], end[k])) return true;
      }
    }
    return false;
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

  // Places a buffer, in time linear in those above it. REQUIRES: [at, at + bytes) is free throughout its lifetime, as a gap
  // that ForEachGap told of; otherwise two buffers share memory, which verify will find and nothing here.
  void Put(const Lifetime& life, Bytes at) {
    const std::size_t place = Find(at);
    Insert(first_, place, life.first);
    Insert(last_, place, life.last);
    Insert(begin_, place, at);
    Insert(end_, place, at + life.bytes);
    ++count_;
    peak_ = std::max(peak_, at + life.bytes);
  }

  // Searches no longer see the buffer that lies at `at`; Drop() puts it down again. Returns its place in the columns.
  // REQUIRES: it lies there. Between the two nothing else may be put, lifted or dropped.
  std::size_t Lift(const Lifetime& life, Bytes at) {
    std::size_t place = Find(at);
    while (first_[place] != life.first || last_[place] != life.last) ++place;
    first_[place] = kNever;
    return place;
  }
  // `lifted`: what Lift() returned; `at`: the new address, which may be the old one.
  void Drop(std::size_t lifted, const Lifetime& life, Bytes at) {
    const std::size_t found = Find(at);
    const std::size_t place = found > lifted ? found - 1 : found;
    Move(first_, lifted, place, life.first);
    Move(last_, lifted, place, life.last);
    Move(begin_, lifted, place, at);
    Move(end_, lifted, place, at + life.bytes);
    peak_ = std::max(peak_, at + life.bytes);
  }

  Bytes base() const { return base_; }
  // One past the highest address that was ever put or dropped on, `base` at least: bytes that the arena needs.
  Bytes peak() const { return peak_; }

 private:
  static constexpr std::size_t kChunk = 64;
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();  // fills the columns up

  // One bit for each of the kChunk buffers at `from`: whether its lifetime meets `life`.
  std::uint64_t Meeting(std::size_t from, const Lifetime& life) const {
    std::array<std::uint8_t, kChunk> meets;
    for (std::size_t k = 0; k < kChunk; ++k) {
      const auto begins_before_end = static_cast<unsigned>(first_[from + k] < life.last);
      const auto ends_after_begin = static_cast<unsigned>(life.first < last_[from + k]);
      meets[k] =
          static_cast<std::uint8_t>(begins_before_end & ends_after_begin);  // no branch: compilers vectorise this
    }
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < kChunk; k += 8) bits |= Packed(&meets[k]) << k;
    return bits;
  }

  // Eight bytes of 0 or 1 as eight bits, the first lowest.
  static std::uint64_t Packed(const std::uint8_t* bytes) {
    constexpr std::uint64_t kGather = 0x0102040810204080u;
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t eight;
    std::memcpy(&eight, bytes, sizeof(eight));
    return eight * kGather >> 56;
  }

  // In the columns, which are in order of address: logarithmic. The first buffer that begins at `address` or above.
  std::size_t Find(Bytes address) const {
    const auto end = begin_.begin() + static_cast<std::ptrdiff_t>(count_);
    return static_cast<std::size_t>(std::lower_bound(begin_.begin(), end, address) - begin_.begin());
  }

  // Make room at `place`, or move what is between the two places by one, and write the value.
  template <typename Value>
  void Insert(std::vector<Value>& column, std::size_t place, Value value) const {
    std::copy_backward(&column[place], column.data() + count_, column.data() + count_ + 1);
    column[place] = value;
  }
  template <typename Value>
  void Move(std::vector<Value>& column, std::size_t from, std::size_t to, Value value) const {
    if (from < to) std::copy(&column[from] + 1, &column[to] + 1, &column[from]);
    if (to < from) std::copy_backward(&column[to], &column[from], &column[from] + 1);
    column[to] = value;
  }

  Bytes base_ = 0;
  Bytes peak_ = 0;
  std::size_t count_ = 0;
  std::vector<std::int32_t> first_, last_;  // lifetimes
  std::vector<Bytes> begin_, end_;          // addresses
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_ARENA_H_
