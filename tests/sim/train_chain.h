// A synthetic training step used to compare event engines: N layers, 4N ops on three in-order streams.
//
//   compute  F0 F1 ... F(N-1)  B(N-1) ... B0        F_i: forward, B_i: backward of layer i
//   d2h         O0 O1 ...                           O_i: swap-out of layer i's result, after F_i
//   h2d                     I(N-1) ... I0           I_i: swap-in, after O_i and after B_(i+3) (or F_(N-1))
//
// F_i and I_i allocate a_i bytes at their start; O_i and B_i free them at their end. Sizes and durations come from an
// integer hash, so that any engine anywhere can be given the same workload; the expected makespan and peak memory for
// N = 50, 200, 1000 and 10000 are known from several independent engines (kTrainChainChecks).
#ifndef SPILLWAY_TESTS_SIM_TRAIN_CHAIN_H_
#define SPILLWAY_TESTS_SIM_TRAIN_CHAIN_H_

#include <cstdint>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

struct TrainChain {
  Program program;
  std::vector<Nanos> durations;
};

struct TrainChainCheck {
  int layers;
  Nanos makespan;
  Bytes peak;
};
inline constexpr TrainChainCheck kTrainChainChecks[] = {{50, 15835321, 25113776},
                                                        {200, 62664297, 131710998},
                                                        {1000, 319362039, 623568995},
                                                        {10000, 3191511522, 5220067810}};

inline std::uint32_t TrainChainMix(std::uint32_t i, std::uint32_t k) {
  std::uint32_t x = (4 * i + k + 1) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return x;
}
inline Nanos TrainChainForward(int i) { return 50000 + TrainChainMix(static_cast<std::uint32_t>(i), 0) % 100000; }
inline Nanos TrainChainCopy(int i) { return 40000 + TrainChainMix(static_cast<std::uint32_t>(i), 1) % 160000; }
inline Bytes TrainChainBytes(int i) {
  return (1 << 20) + static_cast<Bytes>(TrainChainMix(static_cast<std::uint32_t>(i), 2) % (1u << 22));
}

inline TrainChain MakeTrainChain(int layers) {
  TrainChain chain;
  Program& program = chain.program;
  program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
  program.launches.resize(1);
  const auto n = static_cast<std::uint32_t>(layers);
  // Buffers: first results 0..n-1, copies brought back n..2n-1, host copies 2n..3n-1.
  for (std::uint32_t k = 0; k < 3 * n; ++k) {
    program.buffers.push_back({.bytes = TrainChainBytes(static_cast<int>(k % n)),
                               .kind = k < 2 * n ? BufferKind::kTensor : BufferKind::kHost});
  }
  const auto emit = [&chain](Opcode opcode, StreamId stream, std::uint32_t arg, Nanos duration = 0) {
    chain.program.code.push_back({.opcode = opcode, .stream = stream, .arg = arg});
    chain.durations.push_back(duration);
  };
  const auto kernel = [&](std::uint32_t buffer, Access access, Nanos duration) {
    program.kernels.push_back({.operands = static_cast<std::uint32_t>(program.operands.size()), .operand_count = 1});
    program.operands.push_back({buffer, access});
    emit(Opcode::kKernel, 0, static_cast<std::uint32_t>(program.kernels.size() - 1), duration);
  };
  const auto copy = [&](StreamId stream, std::uint32_t from, std::uint32_t to, Direction direction, Nanos duration) {
    program.copies.push_back({.from = from, .to = to, .bytes = program.buffers[from].bytes, .direction = direction});
    emit(Opcode::kCopy, stream, static_cast<std::uint32_t>(program.copies.size() - 1), duration);
  };
  // Events: F_i -> i, O_i -> n + i, B_i -> 2n + i, I_i -> 3n + i.
  program.events = 4 * n;
  for (std::uint32_t i = 0; i < n; ++i) {
    emit(Opcode::kAlloc, 0, i);
    kernel(i, Access::kWrite, TrainChainForward(static_cast<int>(i)));
    emit(Opcode::kRecord, 0, i);
    emit(Opcode::kWait, 1, i);
    copy(1, i, 2 * n + i, Direction::kDeviceToHost, TrainChainCopy(static_cast<int>(i)));
    emit(Opcode::kFree, 1, i);
    emit(Opcode::kRecord, 1, n + i);
  }
  for (std::uint32_t j = n; j-- > 0;) {
    // I_j follows O_j and the backward of layer j + 3; issued just before B_j.
    emit(Opcode::kWait, 2, n + j);
    emit(Opcode::kWait, 2, j + 3 < n ? 2 * n + j + 3 : n - 1);
    emit(Opcode::kAlloc, 2, n + j);
    copy(2, 2 * n + j, n + j, Direction::kHostToDevice, TrainChainCopy(static_cast<int>(j)));
    emit(Opcode::kRecord, 2, 3 * n + j);
    emit(Opcode::kWait, 0, 3 * n + j);
    kernel(n + j, Access::kRead, 2 * TrainChainForward(static_cast<int>(j)));
    emit(Opcode::kFree, 0, n + j);
    emit(Opcode::kRecord, 0, 2 * n + j);
  }
  program.memory = ProgramMemory::kArena;
  return chain;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_TRAIN_CHAIN_H_
