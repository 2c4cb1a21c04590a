
#include <cmath>

#include "sim/engine/engine_internal.h"

namespace spillway {
namespace {

constexpr std::size_t kTensorClasses = 8;  // kAuxiliary is the last

std::size_t ClassOf(const Buffer& buffer, const TrainingStep& step) {
  if (buffer.kind == BufferKind::kWorkspace) return kTensorClasses;
  return static_cast<std::size_t>(step.tensors[Index(buffer.tensor)].use);
}

// One change of live memory: when, and of which buffer.
struct KeyedChange {
  Nanos key = 0;
  std::uint32_t buffer = 0;
};

// By stream. A stream reaches its allocations and frees in the order of the list, which is that of its log.
std::vector<std::vector<KeyedChange>> ChangesByStream(const Program& program, const Scratch& scratch) {
  std::vector<std::vector<KeyedChange>> changes(program.streams.size());
  for (const Instruction& in : program.code) {
    if (in.opcode != Opcode::kAlloc && in.opcode != Opcode::kFree) continue;
    if (program.buffers[in.arg].place != 0) continue;
    std::vector<KeyedChange>& stream = changes[in.stream];
    stream.push_back({scratch.memory[in.stream][stream.size()].first, in.arg});
  }
  for (auto& stream : changes) stream.push_back({kEndOfMemoryList, 0});
  return changes;
}

}  // namespace

std::vector<MemoryChange> MemoryChanges(const Program& program, const Scratch& scratch) {
  const std::vector<std::vector<KeyedChange>> changes = ChangesByStream(program, scratch);
  std::vector<std::size_t> at(changes.size(), 0);
  std::vector<MemoryChange> merged;
  for (;;) {
    std::size_t next = 0;  // the earliest change; of equals that of the first stream, as in MergeMemory
    for (std::size_t s = 1; s < changes.size(); ++s) {
      if (changes[s][at[s]].key < changes[next][at[next]].key) next = s;
    }
    const KeyedChange& change = changes[next][at[next]++];
    if (change.key == kEndOfMemoryList) return merged;
    merged.push_back({change.key / 2, change.buffer, (change.key & 1) == 1});  // MemoryKey
  }
}

std::vector<Bytes> MemoryByClassAtPeak(const Program& program, const TrainingStep& step,
                                       std::span<const MemoryChange> changes) {
  std::vector<Bytes> live(kTensorClasses + 1, 0), at_peak = live;
  Bytes sum = 0, peak = 0;
  for (const MemoryChange& change : changes) {
    const Buffer& buffer = program.buffers[change.buffer];
    const Bytes bytes = change.is_alloc ? buffer.bytes : -buffer.bytes;
    live[ClassOf(buffer, step)] += bytes;
    sum += bytes;
    if (sum <= peak) continue;
    peak = sum;
    at_peak = live;
  }
  return at_peak;
}

std::vector<Bytes> MeanMemoryByClass(const Program& program, const TrainingStep& step,
                                     std::span<const MemoryChange> changes, Nanos makespan) {
  std::vector<double> mean(kTensorClasses + 1, 0);
  const double whole = static_cast<double>(std::max<Nanos>(1, makespan));
  for (const MemoryChange& change : changes) {
    const Buffer& buffer = program.buffers[change.buffer];
    const double rest = static_cast<double>(makespan - change.time) / whole;  // of the step, from then on
    mean[ClassOf(buffer, step)] += (change.is_alloc ? rest : -rest) * static_cast<double>(buffer.bytes);
  }
  std::vector<Bytes> bytes;
  for (const double value : mean) bytes.push_back(static_cast<Bytes>(std::llround(value)));
  return bytes;
}

}  // namespace spillway
