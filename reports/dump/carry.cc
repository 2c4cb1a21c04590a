// The walk over a program's list: which op is next, and what happens before it.
#include "reports/dump/carry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hw/text/document.h"
#include "sim/program/program.h"

namespace spillway {

const char* CarryKindName(CarryKind kind) {
  constexpr const char* kNames[] = {"out", "in", "again", "leave", "release"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw UserError(fmt::format("this plan cannot be carried out between the calls of a framework: {}", what));
}

class CarryWalk {
 public:
  CarryWalk(const Program& program, const TrainingStep& step) : program_(program), step_(step) {
    carried_.before.resize(step.ops.size() + 1);
    carried_.live.resize(step.ops.size());
    for (const Instruction& in : program.code) {
      if (in.opcode == Opcode::kAlloc && IsTensor(in.arg)) ++allocations_[TensorOf(in.arg)];
    }
    for (const Buffer& b : program.buffers) {
      if (b.box != kWhole) Refuse(fmt::format("'{}' lies in several buffers", NameOf(b.tensor)));
    }
  }

  Carried Walk() {
    for (const Instruction& in : program_.code) Step(in);
    carried_.held.assign(held_.begin(), held_.end());
    carried_.host_bytes = program_.HostBytes();
    DropNeedlessReleases();
    return std::move(carried_);
  }

 private:
  bool IsTensor(BufferId b) const { return program_.buffers[b].kind == BufferKind::kTensor; }
  TensorId TensorOf(BufferId b) const { return program_.buffers[b].tensor; }
  const std::string& NameOf(TensorId t) const { return step_.tensors[Index(t)].name; }
  void Add(CarryKind kind, TensorId tensor, OpId op = kNoOp) {
    carried_.before[next_].push_back({.kind = kind, .tensor = tensor, .op = op});
  }

  void Step(const Instruction& in) {
    switch (in.opcode) {
      case Opcode::kAlloc:
        live_ += program_.buffers[in.arg].bytes;
        if (IsTensor(in.arg)) ++present_[TensorOf(in.arg)];
        break;
      case Opcode::kFree:
        Free(in.arg);
        break;
      case Opcode::kCopy:
        Copied(program_.copies[in.arg]);
        break;
      case Opcode::kKernel:
        Run(program_.kernels[in.arg]);
        break;
      case Opcode::kRecord:
      case Opcode::kWait:
      case Opcode::kHostSync:
        break;
    }
  }

  void Free(BufferId b) {
    live_ -= program_.buffers[b].bytes;
    if (!IsTensor(b)) return;
    const bool last = --allocations_[TensorOf(b)] == 0;
    if (--present_[TensorOf(b)] > 0) return;  // it was back before it had left: a framework has it once
    Add(last ? CarryKind::kRelease : CarryKind::kLeave, TensorOf(b));
  }

  void Copied(const Copy& copy) {
    if (copy.rows > 1 || copy.offset != 0 || copy.box != kWhole) Refuse("copies in pieces");
    const bool out = copy.direction == Direction::kDeviceToHost;
    const TensorId tensor = TensorOf(out ? copy.from : copy.to);
    if (tensor == kNoTensor) Refuse("a copy of no tensor");
    Add(out ? CarryKind::kOut : CarryKind::kIn, tensor);
    moved_.insert(tensor);
  }

  void Run(const Kernel& kernel) {
    const std::string& name = step_.ops[Index(kernel.op)].name;
    if (!kernel.first_part || !kernel.last_part) Refuse(fmt::format("'{}' runs in parts", name));
    if (!kernel.recomputation) {
      if (static_cast<std::size_t>(kernel.op) != next_) Refuse(fmt::format("'{}' runs out of order", name));
      carried_.live[next_++] = live_;
      return;
    }
    Add(CarryKind::kAgain, kNoTensor, kernel.op);
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program_.operands[kernel.operands + k];
      const TensorId tensor = TensorOf(operand.buffer);
      if (tensor == kNoTensor) continue;
      const TensorTraits& traits = step_.tensors[Index(tensor)].Traits();
      if (traits.resident || traits.on_host) continue;
      if (operand.access == Access::kWrite) moved_.insert(tensor);
      if (operand.access != Access::kWrite) held_.insert(tensor);
    }
  }

  // The framework frees by itself what the plan never touched.
  void DropNeedlessReleases() {
    for (std::vector<CarryAction>& actions : carried_.before) {
      std::erase_if(actions, [&](const CarryAction& a) {
        return a.kind == CarryKind::kRelease && !held_.contains(a.tensor) && !moved_.contains(a.tensor);
      });
    }
  }

  const Program& program_;
  const TrainingStep& step_;
  Carried carried_;
  std::map<TensorId, int> allocations_;  // still to be freed
  std::map<TensorId, int> present_;      // buffers that are there
  std::set<TensorId> held_, moved_;      // moved: copied, or made again
  std::size_t next_ = 0;                 // op
  Bytes live_ = 0;
};

}  // namespace

Carried CarriedOut(const Program& program, const TrainingStep& step) { return CarryWalk(program, step).Walk(); }

}  // namespace spillway
