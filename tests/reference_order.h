// The authority on order in tests: all that happens before each instruction as a set, and all pairs of accesses.
// Obvious and slow (quadratic); sim/verify/verify.h is neither.
#ifndef SPILLWAY_TESTS_REFERENCE_ORDER_H_
#define SPILLWAY_TESTS_REFERENCE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

// Pairs of instructions, a bit each.
class Pairs {
 public:
  explicit Pairs(std::size_t count) : words_((count + 63) / 64), bits_(count * words_) {}
  bool operator()(std::size_t row, std::size_t column) const {
    return (bits_[row * words_ + column / 64] >> (column % 64) & 1) != 0;
  }
  void Add(std::size_t row, std::size_t column) {
    bits_[row * words_ + column / 64] |= std::uint64_t{1} << (column % 64);
  }
  void AddRow(std::size_t row, std::size_t other) {
    for (std::size_t word = 0; word < words_; ++word) bits_[row * words_ + word] |= bits_[other * words_ + word];
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

// earlier(b, a): a has ended when b starts, whatever the timing. REQUIRES: every event is recorded before it is used.
inline Pairs HappensBeforeByClosure(const Program& program) {
  const std::size_t count = program.code.size();
  Pairs earlier(count);
  std::vector<std::size_t> record(program.events, 0);
  const auto follow = [&](std::size_t after, std::size_t before) {
    earlier.AddRow(after, before);
    earlier.Add(after, before);
  };
  std::vector<std::size_t> last(program.streams.size(), count);  // on that stream
  std::vector<std::size_t> synced;                               // records the host has waited for
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& in = program.code[i];
    for (const std::size_t before : synced) follow(i, before);
    if (in.opcode == Opcode::kHostSync) {
      synced.push_back(record[in.arg]);
      continue;
    }
    const std::size_t previous = std::exchange(last[in.stream], i);
    if (previous != count) {
      follow(i, previous);
      if (program.code[previous].opcode == Opcode::kWait) follow(i, record[program.code[previous].arg]);
    }
    if (in.opcode == Opcode::kRecord) record[in.arg] = i;
  }
  return earlier;
}

struct Touch {
  std::size_t at;
  bool writes;  // kAlloc and kFree count as writes
};
inline std::vector<std::vector<Touch>> TouchesByBuffer(const Program& program) {
  std::vector<std::vector<Touch>> touches(program.buffers.size());
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode == Opcode::kAlloc || in.opcode == Opcode::kFree) touches[in.arg].push_back({i, true});
    if (in.opcode == Opcode::kCopy) {
      touches[program.copies[in.arg].from].push_back({i, false});
      touches[program.copies[in.arg].to].push_back({i, true});
    }
    if (in.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[in.arg];
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program.operands[kernel.operands + k];
      touches[operand.buffer].push_back({i, operand.access != Access::kRead});
    }
  }
  return touches;
}

// Clause 6: in a pool, a copy stream allocates after every earlier kFree of a compute stream.
inline bool PoolOrderHolds(const Program& program, const Pairs& earlier) {
  const auto on_compute = [&](std::size_t i) {
    return program.streams[program.code[i].stream].kind == StreamKind::kCompute;
  };
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode != Opcode::kAlloc || on_compute(i)) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (program.code[j].opcode == Opcode::kFree && on_compute(j) && !earlier(i, j)) return false;
    }
  }
  return true;
}

// Clause 5b. `capacity` 0: without limit.
inline bool CountedHolds(const Program& program, Bytes capacity) {
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode != Opcode::kAlloc && program.code[i].opcode != Opcode::kFree) continue;
    const Bytes bytes = program.buffers[program.code[i].arg].bytes;
    if (program.code[i].stream != 0 || bytes != (bytes + 511) / 512 * 512) return false;
    Bytes live = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      if (program.code[j].opcode == Opcode::kAlloc) live += program.buffers[program.code[j].arg].bytes;
      if (program.code[j].opcode == Opcode::kFree) live -= program.buffers[program.code[j].arg].bytes;
    }
    if (capacity > 0 && live > capacity) return false;
  }
  return true;
}

// Clauses 4 to 6. Of counted memory, one device whose compute stream is the first. REQUIRES: clauses 1 to 3 hold.
inline bool OrderHolds(const Program& program, Bytes capacity = 0) {
  const auto earlier = HappensBeforeByClosure(program);
  const auto touches = TouchesByBuffer(program);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const bool host = program.buffers[b].kind == BufferKind::kHost;
    for (std::size_t k = 0; k < touches[b].size(); ++k) {
      const Touch& touch = touches[b][k];
      const Opcode opcode = program.code[touch.at].opcode;
      if (!host && (opcode == Opcode::kAlloc) != (k == 0)) return false;
      if (!host && (opcode == Opcode::kFree) != (k + 1 == touches[b].size())) return false;
      for (std::size_t j = 0; j < k; ++j) {
        const Touch& other = touches[b][j];
        if ((touch.writes || other.writes) && touch.at != other.at && !earlier(touch.at, other.at)) return false;
      }
    }
  }
  if (program.memory == ProgramMemory::kCounted) return CountedHolds(program, capacity);
  if (program.memory == ProgramMemory::kPool) return PoolOrderHolds(program, earlier);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    for (std::size_t c = 0; c < program.buffers.size(); ++c) {
      const Buffer& first = program.buffers[b];
      const Buffer& second = program.buffers[c];
      if (b == c || first.kind == BufferKind::kHost || second.kind == BufferKind::kHost) continue;
      if (first.offset >= second.offset + second.bytes || second.offset >= first.offset + first.bytes) continue;
      const std::size_t first_free = touches[b].back().at, second_alloc = touches[c].front().at;
      const std::size_t second_free = touches[c].back().at, first_alloc = touches[b].front().at;
      if (!earlier(second_alloc, first_free) && !earlier(first_alloc, second_free)) return false;
    }
  }
  return true;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_REFERENCE_ORDER_H_
