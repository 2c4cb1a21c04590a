// What the fake device finds in memory: before an instruction, after it, after a step.
#include <fmt/format.h>

#include "sim/execute/fake/device.h"

namespace spillway {

void FakeDevice::CheckReads(const Queued& head) const {
  const std::uint32_t first = expected_.first[head.instruction];
  for (std::uint32_t k = 0; k < head.accesses.size(); ++k) {
    const OperandCall& operand = head.accesses[k];
    if (operand.access == Access::kWrite) continue;
    const ExpectedRead& wanted = expected_.reads[first + k];
    const auto wrong = [&](const char* what) {
      throw DeviceError(Fault::kContents, head.instruction, fmt::format("buffer {} {}", operand.at.buffer, what));
    };
    const Fingerprint found = memory_->Digest(operand.at, wanted.bytes);
    if (wanted.kind == ExpectedRead::Kind::kNever) wrong("holds nothing that it reads");
    if (found == kNothing && wanted.bytes > 0) wrong("holds nothing when it is read");
    if (wanted.kind == ExpectedRead::Kind::kDigest && found != wanted.digest) wrong("does not hold what it should");
    const bool complete =
        head.runs == nullptr ? memory_->Complete(operand.at, wanted.bytes) : memory_->Complete(operand.at, *head.runs);
    if (!complete && wanted.kind == ExpectedRead::Kind::kComplete) {
      wrong("has not arrived completely when it is read");
    }
  }
}

void FakeDevice::WriteResults(const Queued& head) {
  if (head.opcode == Opcode::kCopy) {
    return memory_->Copy(head.accesses[0].at, head.accesses[1].at, head.runs, head.fill);
  }
  const std::uint32_t first = expected_.first[head.instruction];
  for (std::uint32_t k = 0; k < head.accesses.size(); ++k) {
    if (head.accesses[k].access != Access::kRead) memory_->Set(head.accesses[k].at, expected_.writes[first + k]);
  }
  const Kernel& kernel = session_.program->kernels[session_.program->code[head.instruction].arg];
  if (session_.step != nullptr && kernel.op != kNoOp && !kernel.recomputation) ++runs_[Index(kernel.op)];
}

void FakeDevice::CheckStep() {
  memory_->CheckAllFreed();
  for (std::size_t op = 0; op < runs_.size(); ++op) {
    if (runs_[op] == parts_[op]) continue;
    throw DeviceError(Fault::kContract, kNoInstruction,
                      fmt::format("{} ran {} times", session_.step->ops[op].name, runs_[op]));
  }
  for (const Resident& resident : session_.residents) {
    Fingerprint& value = start_[Index(resident.tensor)];
    value = expected_.after[Index(resident.tensor)];
    if (memory_->Digest(resident.last, resident.last.bytes) == DigestOf(resident.last.bytes, value)) continue;
    throw DeviceError(
        Fault::kContents, kNoInstruction,
        fmt::format("{} has not its new value after the step", session_.step->tensors[Index(resident.tensor)].name));
  }
}

}  // namespace spillway
