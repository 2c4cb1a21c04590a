
#include "sim/engine/engine_parts.h"

namespace spillway {
namespace {

constexpr std::size_t kTensorClasses = 8;  // kAuxiliary is the last

std::size_t ClassOf(const Buffer& buffer, const TrainingStep& step) {
  if (buffer.kind == BufferKind::kWorkspace) return kTensorClasses;
  return static_cast<std::size_t>(step.tensors[Index(buffer.tensor)].use);
}

// One change of live memory: when, and of which buffer.
struct Change {
  Nanos key = 0;
  std::uint32_t buffer = 0;
};

// By stream. A stream reaches its allocations and frees in the order of the list, which is that of its log.
std::vector<std::vector<Change>> ChangesByStream(const Program& program, const Scratch& scratch) {
  std::vector<std::vector<Change>> changes(program.streams.size());
  for (const Instruction& in : program.code) {
    if (in.opcode != Opcode::kAlloc && in.opcode != Opcode::kFree) continue;
    if (program.buffers[in.arg].place != 0) continue;
    std::vector<Change>& stream = changes[in.stream];
    stream.push_back({scratch.memory[in.stream][stream.size()].first, in.arg});
  }
  for (auto& stream : changes) stream.push_back({kEndOfMemoryList, 0});
  return changes;
}

}  // namespace

std::vector<Bytes> MemoryByClassAtPeak(const Program& program, const TrainingStep& step, const Scratch& scratch) {
  const std::vector<std::vector<Change>> changes = ChangesByStream(program, scratch);
  std::vector<std::size_t> at(changes.size(), 0);
  std::vector<Bytes> live(kTensorClasses + 1, 0), at_peak = live;
  for (Bytes sum = 0, peak = 0;;) {
    std::size_t next = 0;  // the earliest change; of equals that of the first stream, as in MergeMemory
    for (std::size_t s = 1; s < changes.size(); ++s) {
      if (changes[s][at[s]].key < changes[next][at[next]].key) next = s;
    }
    const Change& change = changes[next][at[next]++];
    if (change.key == kEndOfMemoryList) return at_peak;
    const Buffer& buffer = program.buffers[change.buffer];
    const bool is_alloc = (change.key & 1) == 1;  // MemoryKey
    const Bytes bytes = is_alloc ? buffer.bytes : -buffer.bytes;
    live[ClassOf(buffer, step)] += bytes;
    sum += bytes;
    if (sum <= peak) continue;
    peak = sum;
    at_peak = live;
  }
}

}  // namespace spillway
