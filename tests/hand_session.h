// A session of a device driven by hand, call by call: for what Execute() never does.
#ifndef SPILLWAY_TESTS_HAND_SESSION_H_
#define SPILLWAY_TESTS_HAND_SESSION_H_

#include <vector>

#include "sim/execute/device.h"
#include "sim/execute/execute.h"

namespace spillway {

class HandSession {
 public:
  // All must outlive this.
  HandSession(const Program& program, const TrainingStep* step, ExecutionDevice& device)
      : program_(program), device_(device) {
    operands_.reserve(program.operands.size());
    for (const Operand& operand : program.operands) {
      operands_.push_back({LocationOf(program, operand.buffer), operand.access});
    }
    for (std::uint32_t i = 0; i < program.code.size(); ++i) AddKernel(i, step);
    if (step != nullptr) residents_ = FindResidents(program, *step);
    session_ = {.program = &program, .step = step, .arena_bytes = program.PeakAddress()};
  }
  ~HandSession() { device_.End(); }

  Session& session() { return session_; }
  void Begin() {
    session_.kernels = kernels_;
    session_.residents = residents_;
    device_.Begin(session_);
  }
  // One instruction.
  void Give(std::uint32_t i) {
    const Instruction& in = program_.code[i];
    const Issue issue{i, in.stream};
    switch (in.opcode) {
      case Opcode::kKernel:
        return GiveKernel(i);
      case Opcode::kCopy:
        return GiveCopy(issue, program_.copies[in.arg]);
      case Opcode::kRecord:
        return device_.Record(issue, in.arg);
      case Opcode::kWait:
        return device_.Wait(issue, in.arg);
      case Opcode::kHostSync:
        return device_.HostSync(issue, in.arg);
      case Opcode::kAlloc:
        return session_.debug ? device_.Alloc(issue, LocationOf(program_, in.arg)) : void();
      case Opcode::kFree:
        return session_.debug ? device_.Free(issue, LocationOf(program_, in.arg)) : void();
    }
  }
  void GiveAll(std::uint32_t begin = 0) {
    for (std::uint32_t i = begin; i < program_.code.size(); ++i) Give(i);
  }

 private:
  void AddKernel(std::uint32_t i, const TrainingStep* step) {
    const Instruction& in = program_.code[i];
    if (in.opcode != Opcode::kKernel) return;
    const Kernel& kernel = program_.kernels[in.arg];
    const bool has_op = step != nullptr && kernel.op != kNoOp;
    kernels_.push_back({.issue = {i, in.stream},
                        .kernel = &kernel,
                        .launch = &program_.launches[kernel.launch],
                        .op = has_op ? &step->ops[static_cast<std::size_t>(kernel.op)] : nullptr,
                        .operands = {operands_.data() + kernel.operands, kernel.operand_count}});
  }
  void GiveKernel(std::uint32_t i) {
    for (const KernelCall& call : kernels_) {
      if (call.issue.instruction == i) device_.Enqueue(call);
    }
  }
  void GiveCopy(Issue issue, const Copy& copy) {
    CopyCall call{
        .issue = issue, .copy = &copy, .from = LocationOf(program_, copy.from), .to = LocationOf(program_, copy.to)};
    for (Location* at : {&call.from, &call.to}) {
      at->offset += copy.offset;
      at->bytes = copy.bytes;
    }
    device_.Enqueue(call);
  }

  const Program& program_;
  ExecutionDevice& device_;
  std::vector<OperandCall> operands_;
  std::vector<KernelCall> kernels_;
  std::vector<Resident> residents_;
  Session session_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_HAND_SESSION_H_
