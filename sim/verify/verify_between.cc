// Clause 10 of sim/program/program.h: what outlives the step lies undisturbed between steps.
//
//   between steps   x x x x                                            x x x x      x: no other buffer may lie here, at
//   buffer of W           kAlloc ======================== kFree                     addresses of W
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/verify/step_versions.h"
#include "sim/verify/verify_internal.h"

namespace spillway::verifying {

namespace {

// By tensor: whether it lies in a host buffer between steps. Reports those that lie in two.
std::vector<bool> OnHost(const Program& program, const TrainingStep& step, const StepVersions& versions,
                         Report& report) {
  std::vector<bool> on_host(step.tensors.size(), false), written(program.buffers.size(), false);
  std::vector<BufferId> begins(step.tensors.size(), kNoBuffer);
  const auto of_step = [&](BufferId b) {
    return program.buffers[b].kind == BufferKind::kHost && program.buffers[b].tensor != kNoTensor;
  };
  for (BufferId b = 0; b < program.buffers.size(); ++b) {
    const TensorId t = program.buffers[b].tensor;
    if (of_step(b) && step.tensors[Index(t)].Traits().on_host) on_host[Index(t)] = true;
  }
  const auto begin = [&](InstructionIndex i, BufferId b) {
    const TensorId t = program.buffers[b].tensor;
    on_host[Index(t)] = true;
    const BufferId other = std::exchange(begins[Index(t)], b);
    if (other == kNoBuffer || other == b || !versions.ThereFromTheStart(t)) return;
    report.Add("clause 10", i, b, fmt::format("the step begins with its value, and with that of buffer {}", other));
  };
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    ForEachAccess(program, program.code[i], [&](BufferId b, Access access) {
      if (Reads(access) && !written[b] && of_step(b)) begin(i, b);
      if (Writes(access)) written[b] = true;
    });
  }
  return on_host;
}

// The first instruction that frees memory, and the last that allocates some, of each device.
struct Ends {
  InstructionIndex first_free = kNowhere, last_alloc = 0;
};

std::vector<Ends> EndsByDevice(const Program& program) {
  std::vector<Ends> ends;
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode != Opcode::kAlloc && in.opcode != Opcode::kFree) continue;
    const auto place = static_cast<std::size_t>(program.buffers[in.arg].place);
    if (place >= ends.size()) ends.resize(place + 1);
    if (in.opcode == Opcode::kAlloc) ends[place].last_alloc = i;
    if (in.opcode == Opcode::kFree) ends[place].first_free = std::min(ends[place].first_free, i);
  }
  return ends;
}

class BetweenSteps {
 public:
  BetweenSteps(const Program& program, const Lifetimes& lifetimes, Report& report)
      : program_(program), lifetimes_(lifetimes), report_(report), ends_(EndsByDevice(program)) {}

  // Where no memory is freed before its kAlloc nothing can have lain at its addresses; a pool has no addresses.
  void CheckBegin(BufferId b) {
    const InstructionIndex alloc = lifetimes_.alloc[b];
    if (EndsOf(b).first_free > alloc) return;
    const auto before = [&](BufferId other) { return lifetimes_.alloc[other] < alloc; };
    const BufferId other = program_.memory == ProgramMemory::kPool ? kNoBuffer : Neighbour(b, before);
    Say(alloc, b, other, "it begins with what the step before left, and memory is freed before its kAlloc");
  }
  void CheckEnd(BufferId b) {
    if (EndsOf(b).last_alloc < lifetimes_.free[b]) return;
    const auto after = [&](BufferId other) { return lifetimes_.alloc[other] > lifetimes_.free[b]; };
    const BufferId other = program_.memory == ProgramMemory::kPool ? kNoBuffer : Neighbour(b, after);
    Say(lifetimes_.free[b], b, other,
        "it holds what the next step begins with, and memory is allocated after its kFree");
  }

 private:
  const Ends& EndsOf(BufferId b) const { return ends_[static_cast<std::size_t>(program_.buffers[b].place)]; }

  void Say(InstructionIndex at, BufferId b, BufferId other, const std::string& of_pool) {
    if (program_.memory == ProgramMemory::kPool) return report_.Add("clause 10", at, b, of_pool);
    if (other == kNoBuffer) return;
    report_.Add("clause 10", at, b,
                fmt::format("it holds a value between steps, and buffer {} shares addresses with it", other));
  }

  // A buffer at its addresses for which `when` holds.
  template <typename When>
  BufferId Neighbour(BufferId b, When when) const {
    const Buffer& buffer = program_.buffers[b];
    for (BufferId other = 0; other < program_.buffers.size(); ++other) {
      const Buffer& o = program_.buffers[other];
      const bool shares = other != b && o.kind != BufferKind::kHost && o.place == buffer.place &&
                          o.offset < buffer.offset + buffer.bytes && buffer.offset < o.offset + o.bytes;
      if (shares && when(other)) return other;
    }
    return kNoBuffer;
  }

  const Program& program_;
  const Lifetimes& lifetimes_;
  Report& report_;
  const std::vector<Ends> ends_;  // by device
};

}  // namespace

std::vector<RestingTensor> FindResting(const Program& program, const TrainingStep& step, const Lifetimes& lifetimes,
                                       Report& report) {
  const StepVersions versions(step);
  const std::vector<bool> on_host = OnHost(program, step, versions, report);
  std::vector<RestingTensor> by_tensor(step.tensors.size());
  for (BufferId b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    const TensorId t = buffer.tensor;
    if (buffer.kind != BufferKind::kTensor || t == kNoTensor) continue;
    if (on_host[Index(t)] || !versions.ThereFromTheStart(t)) continue;
    auto& [first, last] = by_tensor[Index(t)];
    if (first == kNoBuffer || lifetimes.alloc[b] < lifetimes.alloc[first]) first = b;
    if (last == kNoBuffer || lifetimes.free[b] > lifetimes.free[last]) last = b;
  }
  std::erase_if(by_tensor, [](const RestingTensor& resting) { return resting.first == kNoBuffer; });
  return by_tensor;
}

void CheckBetweenSteps(const Program& program, const std::vector<RestingTensor>& resting, const Lifetimes& lifetimes,
                       Report& report) {
  BetweenSteps check(program, lifetimes, report);
  for (const RestingTensor& tensor : resting) {
    check.CheckBegin(tensor.first);
    check.CheckEnd(tensor.last);
  }
}

}  // namespace spillway::verifying
