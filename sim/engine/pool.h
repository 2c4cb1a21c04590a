// A pool with addresses: the block of memory that each allocation gets, and the cost of making room by compaction.
//
// The pool works as CuPy's. An allocation splits the smallest free block that is large enough; neighbouring free blocks
// merge. If no free block is large enough but all of them together are, the live blocks move down in order of their
// addresses, until all free memory lies above them. The released code of PoocH does this (yukiito2/cupy,
// cupy/cuda/memory.pyx, _malloc and compact_chunks; the paper, arXiv 1907.05013, does not mention it). Among equally
// large blocks CuPy takes any; here it is the lowest.
//
// One step of the released code is left out: before compacting it tries cudaMalloc outside the pool. That succeeds only
// for allocations smaller than the few hundred MB outside it.
#ifndef SPILLWAY_SIM_ENGINE_POOL_H_
#define SPILLWAY_SIM_ENGINE_POOL_H_

#include <cassert>
#include <map>
#include <set>
#include <utility>

#include "sim/program/program.h"

namespace spillway {

// Bytes are as allocated: callers round to kAllocationUnit, the pool does not. Every operation but Compact() takes time
// logarithmic in the number of blocks; Compact() looks at every live one. Deterministic: no order of addresses in
// memory, only of those in the pool, enters a choice.
class AddressPool {
 public:
  // REQUIRES: capacity > 0.
  explicit AddressPool(Bytes capacity) : capacity_(capacity) { AddFree(0, capacity); }

  // True if one free block is large enough. Several together do not count: see Compact().
  bool Fits(Bytes bytes) const { return free_by_size_.lower_bound({bytes, 0}) != free_by_size_.end(); }

  // REQUIRES: Fits(bytes), and that the buffer has no block. Returns the address.
  Bytes Allocate(BufferId buffer, Bytes bytes) {
    const auto [size, address] = *free_by_size_.lower_bound({bytes, 0});
    RemoveFree(address, size);
    if (size > bytes) AddFree(address + bytes, size - bytes);
    live_[address] = {buffer, bytes};
    address_[buffer] = address;
    return address;
  }

  // REQUIRES: the buffer has a block.
  void Free(BufferId buffer) {
    const auto found = address_.find(buffer);
    assert(found != address_.end());
    Bytes address = found->second;
    Bytes size = live_.at(address).bytes;
    live_.erase(address);
    address_.erase(found);
    if (const auto next = free_.find(address + size); next != free_.end()) {
      size += next->second;
      RemoveFree(next->first, next->second);
    }
    if (const auto after = free_.lower_bound(address); after != free_.begin()) {
      const auto [before, length] = *std::prev(after);
      if (before + length == address) {
        RemoveFree(before, length);
        address = before;
        size += length;
      }
    }
    AddFree(address, size);
  }

  // The cost of a compaction: the bytes moved (each read once and written once), and the number of copies.
  struct Moves {
    Bytes bytes = 0;
    int copies = 0;
  };

  // Moves every live block down as far as it goes. Blocks that lie together are copied together: in one piece where the
  // room below is large enough for it, else in two, so that none is overwritten before it is read.
  Moves Compact() {
    Moves moves;
    std::map<Bytes, Block> live;
    Bytes top = 0, run = 0, run_end = 0;
    const auto end_run = [&](Bytes room) {
      if (run > 0) moves.copies += run <= room ? 1 : 2;
      moves.bytes += std::exchange(run, 0);
    };
    for (const auto& [address, block] : live_) {
      if (address != run_end) end_run(run_end - top);
      run_end = address + block.bytes;
      if (address != top) run += block.bytes;
      live[top] = block;
      address_[block.buffer] = top;
      top += block.bytes;
    }
    end_run(run_end - top);
    live_ = std::move(live);
    free_.clear();
    free_by_size_.clear();
    if (top < capacity_) AddFree(top, capacity_ - top);
    return moves;
  }

 private:
  struct Block {
    BufferId buffer = kNoBuffer;
    Bytes bytes = 0;
  };

  void AddFree(Bytes address, Bytes size) {
    free_[address] = size;
    free_by_size_.insert({size, address});
  }
  void RemoveFree(Bytes address, Bytes size) {
    free_.erase(address);
    free_by_size_.erase({size, address});
  }

  Bytes capacity_;
  std::map<Bytes, Bytes> free_;                     // address -> size; no two of them touch
  std::set<std::pair<Bytes, Bytes>> free_by_size_;  // (size, address)
  std::map<Bytes, Block> live_;                     // by address
  std::map<BufferId, Bytes> address_;               // of the live blocks
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_POOL_H_
