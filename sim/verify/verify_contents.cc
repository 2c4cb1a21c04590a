#include "sim/verify/verify_contents.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::verifying {

void Contents::Run() {
  FillHost();
  for (InstructionIndex i = 0; i < program_.code.size(); ++i) {
    const Instruction& in = program_.code[i];
    if (in.opcode == Opcode::kAlloc) content_[in.arg] = AtAlloc(in.arg);
    if (in.opcode == Opcode::kCopy) RunCopy(i, program_.copies[in.arg]);
    if (in.opcode == Opcode::kKernel) RunKernel(i, program_.kernels[in.arg]);
  }
  AtEnd();
}

void Contents::Undefined(InstructionIndex i, BufferId b) {
  const bool pieces = content_[b].version != kUndefined;
  report_.Add("contents", i, b,
              pieces ? "it is read before all of it has arrived" : "it is read and holds nothing yet");
}

void Contents::FillHost() {
  std::vector<bool> read_first(content_.size(), false), written(content_.size(), false);
  for (const Instruction& in : program_.code) {
    ForEachAccess(program_, in, [&](BufferId b, Access access) {
      if (Reads(access) && !written[b]) read_first[b] = true;
      if (Writes(access)) written[b] = true;
    });
  }
  for (BufferId b = 0; b < content_.size(); ++b) {
    if (program_.buffers[b].kind == BufferKind::kHost) content_[b] = AtStart(b, read_first[b], written[b]);
  }
}

void Contents::RunCopy(InstructionIndex i, const Copy& copy) {
  const bool same = program_.buffers[copy.from].tensor == program_.buffers[copy.to].tensor;
  if (same && RunBoxCopy(i, copy)) return;
  if (!Defined(copy.from)) return Undefined(i, copy.from);
  if (!same) report_.Add("contents", i, copy.to, fmt::format("buffer {} holds another tensor", copy.from));
  const Version version = content_[copy.from].version;
  Content& to = content_[copy.to];
  // Pieces of one version add up from the beginning; a piece over the same version changes nothing.
  if (to.version != version) to.bytes = 0;
  if (copy.offset <= to.bytes) to.bytes = std::max(to.bytes, copy.offset + copy.bytes);
  to.version = version;
}

namespace {

// Without a step: a buffer holds something or nothing.
class PlainContents : public Contents {
 public:
  using Contents::Contents;

 private:
  Content AtStart(BufferId, bool, bool written) override { return written ? Content{} : Content{0, 0}; }
  Content AtAlloc(BufferId) override { return {}; }
  Bytes Full(BufferId) const override { return 0; }
  void RunKernel(InstructionIndex i, const Kernel& kernel) override {
    for (const Operand& operand : Operands(kernel)) {
      if (Reads(operand.access) && !Defined(operand.buffer)) Undefined(i, operand.buffer);
    }
    for (const Operand& operand : Operands(kernel)) {
      if (Writes(operand.access)) content_[operand.buffer] = {0, 0};
    }
  }
};

}  // namespace

void CheckContents(const Program& program, const TrainingStep* step, const std::vector<RestingTensor>& resting,
                   Report& report) {
  if (step != nullptr) return CheckStepContents(program, *step, resting, report);
  PlainContents(program, report).Run();
}

}  // namespace spillway::verifying
