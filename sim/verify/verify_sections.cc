#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "sim/verify/verify_boxes.h"

namespace spillway::verifying {

namespace {

std::span<const Operand> AllOperands(const Program& program, const Kernel& kernel) {
  return {program.operands.data() + kernel.operands, kernel.operand_count};
}

bool IsOf(const Program& program, const Operand& operand, TensorId tensor) {
  const Buffer& buffer = program.buffers[operand.buffer];
  return buffer.kind != BufferKind::kWorkspace && buffer.tensor == tensor;
}

// Whether `next` goes on where `box` ends, in samples.
bool GoesOn(const Box& box, const Box& next) {
  if (next.begin[kBatchAxis] != box.end[kBatchAxis]) return false;
  Box same = next;
  same.begin[kBatchAxis] = box.begin[kBatchAxis];
  same.end[kBatchAxis] = box.end[kBatchAxis];
  return same == box;
}

// Where sample 0 would lie: the buffer's address, less what its samples are behind the first of the tensor.
Bytes AddressOfTensor(const Program& program, const TrainingStep& step, BufferId b) {
  const Tensor& tensor = step.tensors[Index(program.buffers[b].tensor)];
  return program.buffers[b].offset - HeldBy(program, b, step).begin[kBatchAxis] * (tensor.bytes / tensor.shape.n);
}

class SectionsPass {
 public:
  SectionsPass(const Program& program, const TrainingStep& step, Report& report)
      : program_(program), step_(step), report_(report) {}

  void Run() {
    for (InstructionIndex i = 0; i < program_.code.size(); ++i) {
      if (program_.code[i].opcode == Opcode::kKernel) CheckKernel(i, program_.kernels[program_.code[i].arg]);
    }
  }

 private:
  void CheckKernel(InstructionIndex i, const Kernel& kernel) {
    std::vector<const Operand*> first;  // of each tensor
    for (const Operand& operand : AllOperands(program_, kernel)) {
      const Buffer& buffer = program_.buffers[operand.buffer];
      if (buffer.kind == BufferKind::kWorkspace || buffer.tensor == kNoTensor) continue;
      const auto known =
          std::find_if(first.begin(), first.end(), [&](const Operand* f) { return IsOf(program_, *f, buffer.tensor); });
      if (known == first.end()) {
        first.push_back(&operand);
      } else if ((*known)->buffer != operand.buffer) {
        CheckBeside(i, kernel, **known, operand);
      }
    }
  }

  void CheckBeside(InstructionIndex i, const Kernel& kernel, const Operand& first, const Operand& other) {
    const TensorId t = program_.buffers[other.buffer].tensor;
    if (program_.memory != ProgramMemory::kArena) {
      return report_.Add("clause 9", i, other.buffer, "only an arena has sections");
    }
    if (!OperandsOf(program_, step_, kernel, t).together) {
      return report_.Add("clause 9", i, other.buffer,
                         fmt::format("beside buffer {} it is no further range of samples", first.buffer));
    }
    if (other.access != first.access) {
      report_.Add("clause 9", i, other.buffer, fmt::format("it is touched otherwise than buffer {}", first.buffer));
    }
    for (const BufferId b : {first.buffer, other.buffer}) {
      const Box held = HeldBy(program_, b, step_), whole = WholeOf(step_.tensors[Index(t)].shape);
      if (WithRange(whole, kBatchAxis, held.begin[kBatchAxis], held.end[kBatchAxis]) == held) continue;
      return report_.Add("clause 9", i, b, "a section holds whole samples");
    }
    const Bytes at = AddressOfTensor(program_, step_, other.buffer);
    const Bytes wanted = AddressOfTensor(program_, step_, first.buffer);
    if (at == wanted) return;
    report_.Add("clause 9", i, other.buffer,
                fmt::format("its address is {} bytes off what buffer {} makes of it", at - wanted, first.buffer));
  }

  const Program& program_;
  const TrainingStep& step_;
  Report& report_;
};

}  // namespace

TensorOperands OperandsOf(const Program& program, const TrainingStep& step, const Kernel& kernel, TensorId tensor) {
  TensorOperands found;
  for (const Operand& operand : AllOperands(program, kernel)) {
    if (!IsOf(program, operand, tensor)) continue;
    const Box box = BoxIn(program, operand.buffer, operand.box, step);
    if (found.count++ == 0) {
      found.together = box;
    } else if (found.together && GoesOn(*found.together, box)) {
      found.together->end[kBatchAxis] = box.end[kBatchAxis];
    } else {
      found.together.reset();
    }
  }
  return found;
}

void CheckSections(const Program& program, const TrainingStep& step, Report& report) {
  SectionsPass(program, step, report).Run();
}

}  // namespace spillway::verifying
