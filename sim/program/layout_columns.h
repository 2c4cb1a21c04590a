// Buffers in order of address, kept for searches through all of them. Internal to `layout`.
//
// A search looks at the lifetimes of hundreds of neighbours to find the few that matter. They are kept in columns, so
// that the compiler compares several at once, and in leaves of up to kLeaf, so that one more moves few others: Programs of
// ops in tiles have tens of thousands of buffers.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_COLUMNS_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_COLUMNS_H_

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

// Addresses and sizes are bytes.
class Columns {
 public:
  // Calls visit(begin, end) with the addresses of each buffer whose lifetime meets `life`, in order of address, until it
  // returns true; whether it did.
  template <typename Visit>
  bool ForEachMeeting(const Lifetime& life, Visit visit) const {
    for (const std::uint32_t at : order_) {
      const Leaf& leaf = leaves_[at];
      for (std::uint64_t meets = Meeting(leaf, life); meets != 0; meets &= meets - 1) {
        const auto k = static_cast<std::size_t>(std::countr_zero(meets));
        if (visit(leaf.begin[k], leaf.end[k])) return true;
      }
    }
    return false;
  }

  // In time linear in the leaves, hardly.
  void Put(const Lifetime& life, Bytes at) {
    if (order_.empty()) Grow(0, at);
    std::size_t row = LeafBelow(std::upper_bound(lows_.begin(), lows_.end(), at));
    if (leaves_[order_[row]].count == kLeaf) {
      Split(row);
      if (at >= lows_[row + 1]) ++row;
    }
    leaves_[order_[row]].Insert(life, at);
  }

  // REQUIRES: it was put there.
  void Remove(const Lifetime& life, Bytes at) {
    std::size_t row = LeafBelow(std::lower_bound(lows_.begin(), lows_.end(), at));
    while (!leaves_[order_[row]].Erase(life, at)) ++row;
  }

 private:
  static constexpr std::size_t kLeaf = 64;
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();  // where there is no buffer

  struct Leaf {
    std::array<std::int32_t, kLeaf> first, last;  // lifetimes
    std::array<Bytes, kLeaf> begin, end;          // addresses
    std::size_t count = 0;

    Leaf() {
      first.fill(kNever);
      last.fill(0);
    }
    void Insert(const Lifetime& life, Bytes at) {
      const auto place = static_cast<std::size_t>(
          std::lower_bound(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(count), at) - begin.begin());
      const auto insert = [&](auto& column, auto value) {
        std::copy_backward(&column[place], column.data() + count, column.data() + count + 1);
        column[place] = value;
      };
      insert(first, life.first);
      insert(last, life.last);
      insert(begin, at);
      insert(end, at + life.bytes);
      ++count;
    }
    bool Erase(const Lifetime& life, Bytes at) {
      auto place = static_cast<std::size_t>(
          std::lower_bound(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(count), at) - begin.begin());
      while (place < count && begin[place] == at && (first[place] != life.first || last[place] != life.last)) ++place;
      if (place == count || begin[place] != at) return false;
      const auto erase = [&](auto& column) {
        std::copy(column.data() + place + 1, column.data() + count, column.data() + place);
      };
      erase(first);
      erase(last);
      erase(begin);
      erase(end);
      first[--count] = kNever;
      return true;
    }
  };

  // One bit for each buffer of the leaf: whether its lifetime meets `life`.
  static std::uint64_t Meeting(const Leaf& leaf, const Lifetime& life) {
    std::array<std::uint8_t, kLeaf> meets;
    for (std::size_t k = 0; k < kLeaf; ++k) {
      const auto begins_before_end = static_cast<unsigned>(leaf.first[k] < life.last);
      const auto ends_after_begin = static_cast<unsigned>(life.first < leaf.last[k]);
      meets[k] =
          static_cast<std::uint8_t>(begins_before_end & ends_after_begin);  // no branch: compilers vectorise this
    }
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < kLeaf; k += 8) bits |= Packed(&meets[k]) << k;
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

  // The leaf before `low`, the first one where there is none.
  std::size_t LeafBelow(std::vector<Bytes>::const_iterator low) const {
    return low == lows_.begin() ? 0 : static_cast<std::size_t>(low - lows_.begin()) - 1;
  }

  // An empty leaf in that row.
  void Grow(std::size_t row, Bytes low) {
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(row), static_cast<std::uint32_t>(leaves_.size()));
    lows_.insert(lows_.begin() + static_cast<std::ptrdiff_t>(row), low);
    leaves_.emplace_back();
  }

  // The upper half of a full leaf becomes one of its own.
  void Split(std::size_t row) {
    constexpr std::size_t kHalf = kLeaf / 2;
    Grow(row + 1, leaves_[order_[row]].begin[kHalf]);
    Leaf &lower = leaves_[order_[row]], &upper = leaves_[order_[row + 1]];
    const auto move = [](auto& from, auto& to) { std::copy(from.begin() + kHalf, from.end(), to.begin()); };
    move(lower.first, upper.first);
    move(lower.last, upper.last);
    move(lower.begin, upper.begin);
    move(lower.end, upper.end);
    std::fill(lower.first.begin() + kHalf, lower.first.end(), kNever);
    lower.count = kHalf;
    upper.count = kLeaf - kHalf;
  }

  std::vector<Leaf> leaves_;
  std::vector<std::uint32_t> order_;  // of leaves by address
  std::vector<Bytes> lows_;           // by row of order_: no buffer of it lies lower, none before it higher
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_COLUMNS_H_
