// That a Program computes its step.
//
// The content of a buffer is a version of its tensor: the number of the tensor's writers, in the order of the step,
// whose results are in it. A kernel must read the version that its op read in the step.
//
//   step:  conv writes X (version 1), bias updates X (1 -> 2), pool reads X (2)
//   a recomputation of bias that finds version 2 in its buffer, or of pool that finds 1, computes something else
//
// What is there before the step begins is version 0: the input, parameters, optimizer state and such small state as is
// read before any op writes it. The input is on the host if it has a host buffer. The others are on the host if a host
// buffer of theirs is read before it is written, else in the first device buffer that is allocated for them.
#include <fmt/format.h>

#include <algorithm>

#include "sim/verify/verify_contents.h"

namespace spillway::verifying {

namespace {

bool Listed(const std::vector<TensorId>& list, TensorId t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}

// The versions that the ops of a step read and leave behind.
class StepVersions {
 public:
  explicit StepVersions(const TrainingStep& step)
      : step_(step), start_(step.tensors.size(), kUndefined), last_(step.tensors.size(), kUndefined) {
    for (const Op& op : step.ops) {
      first_read_.push_back(read_.size());
      first_written_.push_back(written_.size());
      for (const TensorId t : op.reads) {
        if (last_[Index(t)] == kUndefined && step.tensors[Index(t)].Traits().outlives)
          start_[Index(t)] = last_[Index(t)] = 0;
        read_.push_back(last_[Index(t)]);
      }
      for (const TensorId t : op.writes) {
        last_[Index(t)] = std::max(last_[Index(t)], 0) + 1;
        written_.push_back(last_[Index(t)]);
      }
    }
  }
  // The version that `op` reads, kUndefined if it does not read the tensor.
  Version Read(OpId op, TensorId t) const { return Find(step_.ops[Index(op)].reads, t, read_, first_read_[Index(op)]); }
  // The version that `op` leaves behind, kUndefined if it does not write the tensor.
  Version Written(OpId op, TensorId t) const {
    return Find(step_.ops[Index(op)].writes, t, written_, first_written_[Index(op)]);
  }
  bool ThereFromTheStart(TensorId t) const { return start_[Index(t)] == 0; }
  Version Last(TensorId t) const { return last_[Index(t)]; }

 private:
  static Version Find(const std::vector<TensorId>& list, TensorId t, const std::vector<Version>& versions,
                      std::size_t first) {
    const auto it = std::find(list.begin(), list.end(), t);
    return it == list.end() ? kUndefined : versions[first + static_cast<std::size_t>(it - list.begin())];
  }

  const TrainingStep& step_;
  std::vector<Version> read_, written_;                  // of all ops, one after another
  std::vector<std::size_t> first_read_, first_written_;  // by op
  std::vector<Version> start_, last_;                    // by tensor: before the step, after it
};

class StepContents : public Contents {
 public:
  StepContents(const Program& program, const TrainingStep& step, Report& report)
      : Contents(program, report),
        step_(step),
        versions_(step),
        on_host_(step.tensors.size(), kNoBuffer),
        placed_(step.tensors.size(), false) {}

 private:
  Content AtStart(BufferId b, bool read_first, bool) override {
    const TensorId t = program_.buffers[b].tensor;
    if (t == kNoTensor || !versions_.ThereFromTheStart(t)) return {};
    if (!read_first && !step_.tensors[Index(t)].Traits().on_host) return {};
    on_host_[Index(t)] = b;
    return {0, Full(b)};
  }

  Content AtAlloc(BufferId b) override {
    const Buffer& buffer = program_.buffers[b];
    const TensorId t = buffer.tensor;
    if (buffer.kind == BufferKind::kWorkspace || t == kNoTensor) return {};
    if (!versions_.ThereFromTheStart(t) || on_host_[Index(t)] != kNoBuffer || placed_[Index(t)]) return {};
    placed_[Index(t)] = true;
    return {0, Full(b)};
  }

  Bytes Full(BufferId b) const override {
    const TensorId t = program_.buffers[b].tensor;
    return t == kNoTensor ? 0 : step_.tensors[Index(t)].bytes;
  }

  void RunKernel(InstructionIndex i, const Kernel& kernel) override {
    if (kernel.op == kNoOp) return report_.Add("step", i, kNoBuffer, "a kernel of no op of the step");
    const std::span<const Operand> operands = Operands(kernel);
    for (const Operand& operand : operands) CheckOperand(i, kernel, operand);
    CheckComplete(i, kernel, operands);
    for (const Operand& operand : operands) {
      const TensorId t = program_.buffers[operand.buffer].tensor;
      if (!Writes(operand.access) || t == kNoTensor) continue;
      content_[operand.buffer] = {versions_.Written(kernel.op, t), Full(operand.buffer)};
    }
  }

  void CheckOperand(InstructionIndex i, const Kernel& kernel, const Operand& operand) {
    const BufferId b = operand.buffer;
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind == BufferKind::kWorkspace) {
      if (operand.access != Access::kWrite) report_.Add("step", i, b, "a workspace is written only");
      return;
    }
    if (buffer.tensor == kNoTensor) return report_.Add("step", i, b, "it holds no tensor of the step");
    const bool reads = Listed(step_.ops[Index(kernel.op)].reads, buffer.tensor);
    const bool writes = Listed(step_.ops[Index(kernel.op)].writes, buffer.tensor);
    const Access access = reads ? (writes ? Access::kReadWrite : Access::kRead) : Access::kWrite;
    // A recomputation may find a result of its op in place, such as a dropout mask, and only read it.
    const bool found = kernel.recomputation && !reads && operand.access == Access::kRead;
    if (!reads && !writes) return report_.Add("step", i, b, "the op does not use it");
    if (operand.access != access && !found) return report_.Add("step", i, b, "the op " + Use(access));
    if (Reads(operand.access)) {
      CheckVersion(i, b,
                   (reads ? versions_.Read(kernel.op, buffer.tensor) : versions_.Written(kernel.op, buffer.tensor)));
    }
  }

  static std::string Use(Access access) {
    if (access == Access::kReadWrite) return "updates it in place";
    return access == Access::kRead ? "reads it only" : "overwrites it and does not read it";
  }

  void CheckVersion(InstructionIndex i, BufferId b, Version wanted) {
    if (!Defined(b)) return Undefined(i, b);
    if (content_[b].version == wanted) return;
    report_.Add("step", i, b, fmt::format("it holds version {}, the op reads version {}", content_[b].version, wanted));
  }

  // Every tensor of the op is there, results once. A recomputation may leave out results: those not needed again, and
  // state such as running statistics that must not be updated twice.
  void CheckComplete(InstructionIndex i, const Kernel& kernel, std::span<const Operand> operands) {
    const Op& op = step_.ops[Index(kernel.op)];
    bool has_result = false;
    for (const TensorId t : op.writes) {
      const auto count = CountOperands(operands, t);
      has_result = has_result || count > 0;
      if (count != 1 && !(count == 0 && kernel.recomputation)) Miscounted(i, t, count);
    }
    for (const TensorId t : op.reads) {
      if (!Listed(op.writes, t) && CountOperands(operands, t) == 0) Miscounted(i, t, 0);
    }
    if (!has_result && !op.writes.empty()) report_.Add("step", i, kNoBuffer, "it has no result of its op");
  }

  void Miscounted(InstructionIndex i, TensorId t, std::ptrdiff_t count) {
    report_.Add("step", i, kNoBuffer, fmt::format("it has {} operands for {}", count, step_.tensors[Index(t)].name));
  }

  std::ptrdiff_t CountOperands(std::span<const Operand> operands, TensorId t) const {
    return std::count_if(operands.begin(), operands.end(), [&](const Operand& operand) {
      const Buffer& buffer = program_.buffers[operand.buffer];
      return buffer.kind != BufferKind::kWorkspace && buffer.tensor == t;
    });
  }

  // What lives on the host between steps must be there, updated, at the end.
  void AtEnd() override {
    for (TensorId t = 0; Index(t) < on_host_.size(); ++t) {
      const BufferId b = on_host_[Index(t)];
      if (b == kNoBuffer || (Defined(b) && content_[b].version == versions_.Last(t))) continue;
      report_.Add("step", static_cast<InstructionIndex>(program_.code.size()), b,
                  "its last version does not return to the host");
    }
  }

  const TrainingStep& step_;
  StepVersions versions_;
  std::vector<BufferId> on_host_;  // by tensor: the host buffer that holds it then
  std::vector<bool> placed_;       // by tensor: its first device buffer was seen
};

}  // namespace

void CheckStepContents(const Program& program, const TrainingStep& step, Report& report) {
  StepContents(program, step, report).Run();
}

void CheckOps(const Program& program, const TrainingStep& step, const HappensBefore& before, Report& report) {
  std::vector<InstructionIndex> at(step.ops.size(), kNowhere);
  for (InstructionIndex i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[program.code[i].arg];
    if (kernel.op == kNoOp) continue;  // reported with its operands
    if (kernel.recomputation) {
      if (kernel.op >= step.first_backward) report.Add("step", i, kNoBuffer, "only forward ops are computed again");
    } else if (at[Index(kernel.op)] != kNowhere) {
      report.Add("step", i, kNoBuffer, fmt::format("the op ran already at instruction {}", at[Index(kernel.op)]));
    } else {
      at[Index(kernel.op)] = i;
    }
  }
  const auto end = static_cast<InstructionIndex>(program.code.size());
  for (std::size_t op = 0; op < at.size(); ++op) {
    if (at[op] == kNowhere) report.Add("step", end, kNoBuffer, step.ops[op].name + " never runs");
    if (op == 0 || at[op] == kNowhere || at[op - 1] == kNowhere || before(at[op - 1], at[op])) continue;
    report.Add("step", at[op], kNoBuffer, fmt::format("it need not follow {}", step.ops[op - 1].name));
  }
}

}  // namespace spillway::verifying
