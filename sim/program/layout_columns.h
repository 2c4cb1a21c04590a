// Buffers in order of address, kept for searches through all of them. Internal to `layout`.
//
// A search looks at the lifetimes of hundreds of neighbours to find the few that matter. They are kept in columns, so
// that the compiler compares several at once, and in leaves of a few hundred, so that one more moves few others: Programs
// of ops in tiles have tens of thousands of buffers. Addresses and sizes are bytes.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_COLUMNS_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_COLUMNS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
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

// Up to kMost buffers.
class Leaf {
 public:
  static constexpr std::size_t kMost = 256;

  std::size_t count() const { return count_; }

  static constexpr Bytes kFound = -1;
  // Calls visit(begin, end) for each gap of life.bytes from `at` up to the last buffer that is free throughout its lifetime,
  // in order of address, until it returns true. Returns where the gap behind all of them begins, or kFound. What lies at
  // `own` is not there, as if it had been taken out.
  template <typename Visit>
  Bytes ForEachGap(const Lifetime& life, Bytes own, Bytes at, Visit visit) const {
    for (std::size_t from = 0; from < count_; from += kChunk) {
      const Bytes* const begin = &begin_[from];
      const Bytes* const end = &end_[from];
      for (std::uint64_t meets = Meeting(from, life); meets != 0; meets &= meets - 1) {
        const int k = std::countr_zero(meets);
        if (begin[k] == own) continue;
        if (begin[k] - at >= life.bytes && visit(at, begin[k])) return kFound;
        at = std::max(at, end[k]);
      }
    }
    return at;
  }

  void Insert(const Lifetime& life, Bytes at) {
    if (count_ == first_.size()) Resize(std::max(kChunk, 2 * count_));
    const std::size_t place = Find(at);
    const auto insert = [&](auto& column, auto value) {
      std::copy_backward(&column[place], column.data() + count_, column.data() + count_ + 1);
      column[place] = value;
    };
    insert(first_, life.first);
    insert(last_, life.last);
    insert(begin_, at);
    insert(end_, at + life.bytes);
    ++count_;
  }

  // Whether it was there.
  bool Erase(const Lifetime& life, Bytes at) {
    const std::size_t place = PlaceOf(life, at);
    if (place == count_) return false;
    const auto erase = [&](auto& column) {
      std::copy(column.data() + place + 1, column.data() + count_, column.data() + place);
    };
    erase(first_);
    erase(last_);
    erase(begin_);
    erase(end_);
    first_[--count_] = kNever;
    return true;
  }

  // To another address; whether it was there.
  bool Move(const Lifetime& life, Bytes from, Bytes to) {
    const std::size_t place = PlaceOf(life, from), found = Find(to);
    if (place == count_) return false;
    const std::size_t now = found > place ? found - 1 : found;
    const auto move = [&](auto& column, auto value) {
      if (place < now) std::copy(&column[place] + 1, &column[now] + 1, &column[place]);
      if (now < place) std::copy_backward(&column[now], &column[place], &column[place] + 1);
      column[now] = value;
    };
    move(first_, life.first);
    move(last_, life.last);
    move(begin_, to);
    move(end_, to + life.bytes);
    return true;
  }

  // Takes the upper half out.
  Leaf Split() {
    Leaf upper;
    upper.count_ = count_ / 2;
    upper.Resize(first_.size());
    count_ -= upper.count_;
    const auto move = [&](const auto& from, auto& to) { std::copy_n(from.data() + count_, upper.count_, to.data()); };
    move(first_, upper.first_);
    move(last_, upper.last_);
    move(begin_, upper.begin_);
    move(end_, upper.end_);
    std::fill(first_.begin() + static_cast<std::ptrdiff_t>(count_), first_.end(), kNever);
    return upper;
  }
  Bytes lowest() const { return begin_.front(); }  // REQUIRES: not empty

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

  // Logarithmic. The first buffer that begins at `address` or above.
  std::size_t Find(Bytes address) const {
    const auto end = begin_.begin() + static_cast<std::ptrdiff_t>(count_);
    return static_cast<std::size_t>(std::lower_bound(begin_.begin(), end, address) - begin_.begin());
  }

  // count(): it is not there.
  std::size_t PlaceOf(const Lifetime& life, Bytes at) const {
    std::size_t place = Find(at);
    while (place < count_ && begin_[place] == at && (first_[place] != life.first || last_[place] != life.last)) ++place;
    return place < count_ && begin_[place] == at ? place : count_;
  }

  void Resize(std::size_t size) {
    first_.resize(size, kNever);
    last_.resize(size);
    begin_.resize(size);
    end_.resize(size);
  }

  std::size_t count_ = 0;
  std::vector<std::int32_t> first_, last_;  // lifetimes
  std::vector<Bytes> begin_, end_;          // addresses
};

// Any number of them.
class Columns {
 public:
  // As Leaf's, from `at`; the last gap is open-ended.
  template <typename Visit>
  void ForEachGap(const Lifetime& life, Bytes own, Bytes at, Visit visit) const {
    for (const Leaf& leaf : leaves_) {
      at = leaf.ForEachGap(life, own, at, visit);
      if (at == Leaf::kFound) return;
    }
    visit(at, std::numeric_limits<Bytes>::max());
  }

  void Put(const Lifetime& life, Bytes at) {
    std::size_t row = LeafBelow(std::upper_bound(lows_.begin(), lows_.end(), at));
    if (leaves_[row].count() == Leaf::kMost) {
      Leaf upper = leaves_[row].Split();
      lows_.insert(lows_.begin() + static_cast<std::ptrdiff_t>(row) + 1, upper.lowest());
      leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(row) + 1, std::move(upper));
      if (at >= lows_[row + 1]) ++row;
    }
    leaves_[row].Insert(life, at);
  }

  // REQUIRES: it was put at `from`.
  void Move(const Lifetime& life, Bytes from, Bytes to) {
    const std::size_t target = LeafBelow(std::upper_bound(lows_.begin(), lows_.end(), to));
    std::size_t row = LeafBelow(std::lower_bound(lows_.begin(), lows_.end(), from));
    while (!(row == target ? leaves_[row].Move(life, from, to) : leaves_[row].Erase(life, from))) {
      ++row;
      assert(row < leaves_.size() && "it is there");
    }
    if (row != target) Put(life, to);
  }

 private:
  std::size_t LeafBelow(std::vector<Bytes>::const_iterator low) const {
    return static_cast<std::size_t>(low - lows_.begin()) - 1;
  }

  std::vector<Leaf> leaves_{1};
  std::vector<Bytes> lows_{-1};  // by leaf: none of its buffers lies lower, none of those before it higher
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_COLUMNS_H_
