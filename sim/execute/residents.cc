#include <algorithm>

#include "sim/execute/execute.h"

namespace spillway {

namespace {

// Whether the step reads the tensor before it writes it, and it is of a class that lasts.
std::vector<bool> ThereBeforeTheStep(const TrainingStep& step) {
  std::vector<bool> seen(step.tensors.size(), false), there(step.tensors.size(), false);
  for (const Op& op : step.ops) {
    for (const TensorId t : op.reads) {
      const auto at = static_cast<std::size_t>(t);
      if (seen[at]) continue;
      seen[at] = true;
      there[at] = step.tensors[at].Traits().outlives;
    }
    for (const TensorId t : op.writes) seen[static_cast<std::size_t>(t)] = true;
  }
  return there;
}

// Which buffers of a tensor a Program uses in which order.
class Buffers {
 public:
  Buffers(const Program& program, const TrainingStep& step)
      : program_(program),
        host_(step.tensors.size(), kNoBuffer),
        first_(host_),
        last_(host_),
        written_(program.buffers.size()) {
    for (BufferId b = 0; b < program.buffers.size(); ++b) {
      const bool host = program.buffers[b].kind == BufferKind::kHost && Counts(b);
      if (host && step.tensors[TensorOf(b)].Traits().on_host) host_[TensorOf(b)] = b;
    }
    for (const Instruction& in : program.code) {
      if (in.opcode == Opcode::kCopy) SeeCopy(program.copies[in.arg]);
      if (in.opcode == Opcode::kAlloc) SeeAlloc(in.arg);
      if (in.opcode == Opcode::kFree && Counts(in.arg)) last_[TensorOf(in.arg)] = in.arg;
    }
  }
  BufferId Host(std::size_t tensor) const { return host_[tensor]; }
  BufferId First(std::size_t tensor) const { return first_[tensor]; }
  BufferId Last(std::size_t tensor) const { return last_[tensor]; }

 private:
  std::size_t TensorOf(BufferId b) const { return static_cast<std::size_t>(program_.buffers[b].tensor); }
  bool Counts(BufferId b) const {
    const Buffer& buffer = program_.buffers[b];
    return buffer.kind != BufferKind::kWorkspace && buffer.tensor != kNoTensor;
  }
  void SeeCopy(const Copy& copy) {
    if (copy.direction == Direction::kHostToDevice && Counts(copy.from) && !written_[copy.from]) {
      host_[TensorOf(copy.from)] = copy.from;
    }
    written_[copy.to] = true;
  }
  void SeeAlloc(BufferId b) {
    if (Counts(b) && first_[TensorOf(b)] == kNoBuffer) first_[TensorOf(b)] = b;
  }

  const Program& program_;
  std::vector<BufferId> host_, first_, last_;  // by tensor
  std::vector<bool> written_;                  // by buffer
};

}  // namespace

Location LocationOf(const Program& program, BufferId id) {
  const Buffer& buffer = program.buffers[id];
  return {.buffer = id,
          .kind = buffer.kind,
          .tensor = buffer.tensor,
          .offset = buffer.kind == BufferKind::kHost ? 0 : buffer.offset,
          .bytes = buffer.bytes};
}

std::vector<Resident> FindResidents(const Program& program, const TrainingStep& step) {
  const std::vector<bool> there = ThereBeforeTheStep(step);
  const Buffers buffers(program, step);
  std::vector<Resident> residents;
  for (std::size_t t = 0; t < there.size(); ++t) {
    if (!there[t]) continue;
    const BufferId host = buffers.Host(t);
    const BufferId first = host != kNoBuffer ? host : buffers.First(t);
    const BufferId last = host != kNoBuffer ? host : buffers.Last(t);
    if (first == kNoBuffer || last == kNoBuffer) continue;
    Resident resident{static_cast<TensorId>(t), LocationOf(program, first), LocationOf(program, last)};
    for (Location* at : {&resident.first, &resident.last}) at->bytes = std::min(at->bytes, step.tensors[t].bytes);
    residents.push_back(resident);
  }
  return residents;
}

}  // namespace spillway
