// Tested by tests/sim/verify_test.cc, tests/sim/verify_step_test.cc and tests/sim/mutation_test.cc.
#include "sim/verify/verify.h"

#include <fmt/format.h>

#include "sim/verify/verify_boxes.h"
#include "sim/verify/verify_internal.h"

namespace spillway {

namespace verifying {

namespace {
const char* const kNames[kOpcodes] = {"kernel", "copy", "kAlloc", "kFree", "kRecord", "kWait", "kHostSync"};
}  // namespace

void Report::Add(const char* rule, InstructionIndex at, BufferId buffer, const std::string& what) {
  std::string message = rule;
  if (at < program_.code.size()) message += ", " + InstructionText(at);
  if (buffer != kNoBuffer) message += ", " + BufferText(buffer);
  violations_.push_back({at, message + ": " + what});
}

// The report also words what is out of range, so every index is looked at before it is used.
std::string Report::InstructionText(InstructionIndex at) const {
  const Instruction& instruction = program_.code[at];
  const auto opcode = static_cast<std::size_t>(instruction.opcode);
  std::string text = fmt::format("instruction {} ({}", at, opcode < kOpcodes ? kNames[opcode] : "?");
  if (instruction.opcode == Opcode::kKernel && instruction.arg < program_.kernels.size()) {
    const Kernel& kernel = program_.kernels[instruction.arg];
    const auto op = static_cast<std::size_t>(kernel.op);
    if (step_ != nullptr && kernel.op >= 0 && op < step_->ops.size()) text += " " + step_->ops[op].name;
    if (kernel.recomputation) text += " again";
  }
  return text + ")";
}

std::string Report::BufferText(BufferId id) const {
  std::string text = fmt::format("buffer {}", id);
  if (id >= program_.buffers.size()) return text;
  const Buffer& buffer = program_.buffers[id];
  const auto tensor = static_cast<std::size_t>(buffer.tensor);
  const bool named = step_ != nullptr && buffer.tensor >= 0 && tensor < step_->tensors.size();
  if (named) text += " of " + step_->tensors[tensor].name;
  if (buffer.kind == BufferKind::kHost) text += " on the host";
  if (buffer.kind == BufferKind::kWorkspace) text += " (workspace)";
  return text;
}

}  // namespace verifying

std::vector<Violation> Verify(const Program& program, const TrainingStep* step, Bytes capacity) {
  verifying::Report report(program, step);
  const verifying::Lifetimes lifetimes = verifying::CheckStructure(program, step, report);
  if (!report.empty()) return report.Take();
  const verifying::HappensBefore before(program);
  verifying::CheckAccesses(program, step, lifetimes, before, report);
  std::vector<verifying::RestingTensor> resting;
  if (step != nullptr) resting = verifying::FindResting(program, *step, lifetimes, report);
  switch (program.memory) {
    case ProgramMemory::kArena:
      verifying::CheckArena(program, lifetimes, before, report);
      break;
    case ProgramMemory::kPool:
      verifying::CheckPool(program, before, report);
      break;
    case ProgramMemory::kCounted:
      verifying::CheckCounted(program, capacity, resting, report);
      break;
  }
  if (program.memory != ProgramMemory::kCounted) verifying::CheckBetweenSteps(program, resting, lifetimes, report);
  if (step != nullptr && !program.boxes.empty()) verifying::CheckSections(program, *step, report);
  verifying::CheckContents(program, step, resting, report);
  if (step != nullptr) verifying::CheckOps(program, *step, before, report);
  return report.Take();
}

std::vector<std::uint32_t> ImpliedWaits(const Program& program) {
  const verifying::HappensBefore before(program);
  std::vector<std::uint32_t> record(program.events, verifying::kNowhere);
  std::vector<std::uint32_t> implied;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    const Instruction& instruction = program.code[i];
    if (instruction.opcode == Opcode::kRecord) record[instruction.arg] = i;
    if (instruction.opcode == Opcode::kWait && before(record[instruction.arg], i)) implied.push_back(i);
  }
  return implied;
}

}  // namespace spillway
