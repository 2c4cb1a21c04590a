// Placed buffers in order of address, for searches through all of them. Internal to `layout`.
//
// A buffer is a rectangle: live for items [first, last) of the Program, at addresses [begin, begin + bytes). Example,
// three buffers, and what a search for a fourth looks at:
//
//   address
//    20 |        [--D--)[---C---)           A = {.bytes = 10, .first = 0, .last = 9} at 0
//    10 |     [----B----)                   B = {.bytes = 10, .first = 2, .last = 5} at 10
//     0 |[------------A------------)        C = {.bytes = 10, .first = 5, .last = 8} at 20
//       +-----------------------------> items
//        0    2  3      5        8  9       columns   first {0, 2, 5}    last {9, 5, 8}
//                                                     begin {0, 10, 20}  end {10, 20, 30}
//
//   D = {.bytes = 10, .first = 3, .last = 5}: ForEachGap(D, ...) visits [20, infinity): A and B are live, C is not.
//
// A search compares the lifetimes of hundreds of neighbours to find the few that it meets. Lifetimes lie in columns, so
// that the compiler compares several at once. Columns are cut into blocks of up to 256 buffers, so that one more moves
// few others: ops in tiles make tens of thousands of buffers. Addresses and sizes are bytes.
#ifndef SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_COLUMNS_H_
#define SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_COLUMNS_H_

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

// When a buffer is live and how much it takes, without its address.
struct Lifetime {
  BufferId buffer = kNoBuffer;
  Bytes bytes = 0;
  std::int32_t first = 0;          // item that allocates it
  std::int32_t last = 0;           // item that frees it: live for [first, last)
  StreamId stream = 0;             // of the allocation
  std::uint32_t frame = kNoFrame;  // Buffer::frame: buffers of one frame are placed together, ...
  Bytes distance = 0;              // ... each at this distance from the frame's address
};

// Up to kMost buffers.
class Block {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr Bytes kFound = -1;

  std::size_t count() const { return count_; }
  Bytes lowest() const { return begin_.front(); }  // REQUIRES: not empty

  // Calls visit(begin, end) for each gap [begin, end) of at least life.bytes that is free during the lifetime: from
  // `at` up to the block's last buffer, in order of address, until visit returns true. A buffer at `own` counts as
  // absent. Returns kFound, or the address at which the gap above all buffers begins.
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

  // Returns whether the buffer was there.
  bool Erase(const Lifetime& life, Bytes at) {
    std::size_t place = Find(at);
    while (place < count_ && begin_[place] == at && (first_[place] != life.first || last_[place] != life.last)) ++place;
    if (place == count_ || begin_[place] != at) return false;
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

  // Takes the upper half of the buffers out.
  Block Split() {
    Block upper;
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

 private:
  static constexpr std::size_t kChunk = 64;
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();  // `first` of unused places

  // One bit for each of the kChunk buffers from `from` on: whether its lifetime meets `life`.
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

  // The place of the first buffer that begins at `address` or above; logarithmic.
  std::size_t Find(Bytes address) const {
    const auto end = begin_.begin() + static_cast<std::ptrdiff_t>(count_);
    return static_cast<std::size_t>(std::lower_bound(begin_.begin(), end, address) - begin_.begin());
  }

  void Resize(std::size_t size) {
    first_.resize(size, kNever);
    last_.resize(size);
    begin_.resize(size);
    end_.resize(size);
  }

  // Columns: in order of begin_, count_ places in use, a multiple of kChunk in all.
  std::size_t count_ = 0;
  std::vector<std::int32_t> first_, last_;
  std::vector<Bytes> begin_, end_;
};

// Any number of buffers, in blocks.
class Columns {
 public:
  // As Block::ForEachGap, from `at`; the last gap is open-ended.
  template <typename Visit>
  void ForEachGap(const Lifetime& life, Bytes own, Bytes at, Visit visit) const {
    for (const Block& block : blocks_) {
      at = block.ForEachGap(life, own, at, visit);
      if (at == Block::kFound) return;
    }
    visit(at, std::numeric_limits<Bytes>::max());
  }

  void Put(const Lifetime& life, Bytes at) {
    std::size_t row = BlockBelow(std::upper_bound(lows_.begin(), lows_.end(), at));
    if (blocks_[row].count() == Block::kMost) {
      Block upper = blocks_[row].Split();
      lows_.insert(lows_.begin() + static_cast<std::ptrdiff_t>(row) + 1, upper.lowest());
      blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(row) + 1, std::move(upper));
      if (at >= lows_[row + 1]) ++row;
    }
    blocks_[row].Insert(life, at);
  }

  // REQUIRES: the buffer was put at `from`.
  void Move(const Lifetime& life, Bytes from, Bytes to) {
    std::size_t row = BlockBelow(std::lower_bound(lows_.begin(), lows_.end(), from));
    while (!blocks_[row].Erase(life, from)) {
      ++row;
      assert(row < blocks_.size() && "it is there");
    }
    Put(life, to);
  }

 private:
  std::size_t BlockBelow(std::vector<Bytes>::const_iterator low) const {
    return static_cast<std::size_t>(low - lows_.begin()) - 1;
  }

  std::vector<Block> blocks_{1};
  std::vector<Bytes> lows_{-1};  // by block: its buffers lie no lower than this, those of blocks before it no higher
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LAYOUT_LAYOUT_COLUMNS_H_
