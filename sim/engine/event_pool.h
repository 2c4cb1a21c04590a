// The pool of a Program as the event engine runs it: bytes are counted, and blocks have addresses where the conditions say
// so. Which of both answers what, and what moving the blocks costs.
//
// Tested by simulate_host_test and simulate_random_test (tests/sim/).
#ifndef SPILLWAY_SIM_ENGINE_EVENT_POOL_H_
#define SPILLWAY_SIM_ENGINE_EVENT_POOL_H_

#include <cmath>
#include <optional>

#include "sim/engine/engine_internal.h"
#include "sim/engine/pool.h"

namespace spillway {

// Without limit for a Program with an arena, whose addresses are fixed. Refers to all arguments.
class EventPool {
 public:
  EventPool(const Program& program, const Conditions& conditions, Scratch& scratch)
      : program_(program),
        cost_(conditions.compaction),
        count_(program.memory == ProgramMemory::kPool ? conditions.pool_capacity : 0, scratch) {
    const bool limited = program.memory == ProgramMemory::kPool && conditions.pool_capacity > 0;
    if (limited && conditions.pool == PoolKind::kAddresses) addresses_.emplace(conditions.pool_capacity);
  }

  // So many bytes are free, in one block or in several.
  bool Fits(BufferId buffer) const { return count_.Fits(BytesOf(buffer)); }
  bool FitsInOneBlock(BufferId buffer) const {
    return Fits(buffer) && (!addresses_ || addresses_->Fits(BytesOf(buffer)));
  }
  void Allocate(BufferId buffer) {
    count_.Allocate(BytesOf(buffer));
    if (addresses_) addresses_->Allocate(buffer, BytesOf(buffer));
  }
  void FreeNow(BufferId buffer) {
    count_.FreeNow(BytesOf(buffer));
    if (addresses_) addresses_->Free(buffer);
  }
  // By a stream that has not got there yet.
  void FreeLater(std::uint32_t instruction) { count_.FreeLater(instruction, BytesOf(program_.code[instruction].arg)); }
  bool HasPending() const { return count_.HasPending(); }
  std::uint32_t OldestPending() const { return count_.OldestPending(); }
  void TakeOldest() {
    if (addresses_) addresses_->Free(program_.code[count_.OldestPending()].arg);
    count_.TakeOldest();
  }

  // Moves the live blocks together; the time of the copies that do it. REQUIRES: bytes are free, and not in one block.
  Nanos Compact() {
    const AddressPool::Moves moves = addresses_->Compact();
    ++compactions_;
    compacted_bytes_ += moves.bytes;
    const double moving = cost_.rate > 0 ? static_cast<double>(moves.bytes) / cost_.rate : 0;
    return moves.copies * cost_.per_copy + static_cast<Nanos>(std::llround(moving));
  }

  Bytes in_use() const { return count_.in_use(); }
  Bytes peak() const { return count_.peak(); }
  int compactions() const { return compactions_; }
  Bytes compacted_bytes() const { return compacted_bytes_; }

 private:
  Bytes BytesOf(BufferId buffer) const { return program_.buffers[buffer].bytes; }

  const Program& program_;
  const CompactionCost& cost_;
  Pool count_;
  std::optional<AddressPool> addresses_;
  int compactions_ = 0;
  Bytes compacted_bytes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_EVENT_POOL_H_
