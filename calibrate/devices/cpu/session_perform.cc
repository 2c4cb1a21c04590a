// What the streams of a session do, on their threads.
//
// What belongs to the caller, the Program, its calls and the clock, is used within the gate only: the session may be
// abandoned (CpuSession::Abandon) while a thread is anywhere else.
#include <fmt/format.h>

#include "calibrate/devices/cpu/session.h"
#include "calibrate/host/host_memory.h"
#include "hw/text/lists.h"

namespace spillway {

void CpuSession::Perform(std::uint32_t instruction) {
  const Action& action = actions_[instruction];
  if (options_.before) options_.before({instruction, action.stream});
  if (failure_.any()) return;
  switch (action.opcode) {
    case Opcode::kKernel:
      return RunKernel(action, instruction);
    case Opcode::kCopy:
      return RunCopy(action, instruction);
    case Opcode::kAlloc:
      if (!memory_.layout().KeepsAtAlloc(action.at.buffer)) memory_.CheckEmpty(action.at, instruction);
      return;
    case Opcode::kFree:
      if (!memory_.layout().KeepsAtFree(action.at.buffer)) memory_.Empty(action.at, instruction);
      return;
    default:
      return;
  }
}

void CpuSession::RunKernel(const Action& action, std::uint32_t instruction) {
  const std::lock_guard lock(one_kernel_);
  if (failure_.any()) return;
  if (session_.debug) CheckReads(action);
  const Nanos start = session_.instrumented ? gated_clock_.Now() : 0;
  kernels_.Run(instruction);
  if (session_.instrumented) spans_[instruction] = {instruction, start - start_, gated_clock_.Now() - start_};
}

void CpuSession::RunCopy(const Action& action, std::uint32_t instruction) {
  if (session_.debug && session_.step != nullptr && action.at.tensor != kNoTensor) CheckSource(action, instruction);
  const Nanos start = session_.instrumented ? gated_clock_.Now() : 0;
  if (action.fill) std::fill(action.to_bytes.begin(), action.to_bytes.end(), std::byte{0});
  if (action.boxed) {
    link_.Copy(action.direction, action.to_bytes.data(), action.from_bytes.data(), action.runs, &failure_.flag());
  } else {
    link_.Copy(action.direction, action.to_bytes.data(), action.from_bytes.data(), action.at.bytes, &failure_.flag());
  }
  if (session_.instrumented) spans_[instruction] = {instruction, start - start_, gated_clock_.Now() - start_};
}

void CpuSession::CheckSource(const Action& action, std::uint32_t instruction) {
  const CallerGate::Pass pass(gate_);
  if (!pass) return;
  if (action.boxed) {
    return ForEachRun(action.runs, [&](Bytes from, Bytes, Bytes run) {
      Location piece = action.at;
      piece.offset += from;
      piece.bytes = run;
      NeedWritten(piece, run, instruction);
    });
  }
  const Bytes whole = session_.step->tensors[static_cast<std::size_t>(action.at.tensor)].bytes;
  NeedWritten(action.at, whole - action.offset, instruction);
}

void CpuSession::CheckReads(const Action& action) {
  const CallerGate::Pass pass(gate_);
  if (!pass || action.kernel->op == nullptr) return;
  const KernelCall& call = *action.kernel;
  for (const OperandCall& operand : call.operands) {
    const TensorId t = operand.at.tensor;
    const std::vector<TensorId>& reads = call.op->reads;
    const bool read = operand.access != Access::kWrite && operand.at.kind == BufferKind::kTensor && Contains(reads, t);
    if (!read) continue;
    const Bytes whole = session_.step->tensors[static_cast<std::size_t>(t)].bytes;
    if (operand.runs != nullptr) {
      ForEachRun(*operand.runs, [&](Bytes from, Bytes, Bytes run) {
        Location piece = operand.at;
        piece.offset += from;
        piece.bytes = run;
        NeedWritten(piece, run, call.issue.instruction);
      });
      continue;
    }
    NeedWritten(operand.at, operand.boxed ? operand.at.bytes : whole, call.issue.instruction);
  }
}

void CpuSession::NeedWritten(const Location& at, Bytes bytes, std::uint32_t instruction) const {
  if (!memory_.Unwritten(at, bytes, instruction)) return;
  throw DeviceError(Fault::kContents, instruction,
                    fmt::format("{} is read where it was never written or has been freed",
                                session_.step->tensors[static_cast<std::size_t>(at.tensor)].name));
}

void CpuSession::CheckResidents() const {
  for (const Resident& resident : session_.residents) {
    const Tensor& tensor = session_.step->tensors[static_cast<std::size_t>(resident.tensor)];
    if (tensor.Traits().on_host || !HoldsNan(memory_.At(resident.last, kNoInstruction))) continue;
    throw DeviceError(Fault::kContents, kNoInstruction,
                      fmt::format("{} holds NaN after the step: memory was read that holds nothing, or training "
                                  "diverges",
                                  tensor.name));
  }
}

}  // namespace spillway
