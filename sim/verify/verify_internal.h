// The passes of Verify() (sim/verify/verify.h), and the types that they share. Only sources of sim/verify/ include this
// header.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_INTERNAL_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_INTERNAL_H_

#include <string>
#include <utility>
#include <vector>

#include "sim/verify/verify.h"

namespace spillway::verifying {

using InstructionIndex = std::uint32_t;  // in Program::code
constexpr InstructionIndex kNowhere = 0xffffffffu;

// Collects violations. A message names the broken rule, the instruction, and the buffer with its tensor.
class Report {
 public:
  Report(const Program& program, const TrainingStep* step) : program_(program), step_(step) {}
  // `rule`: the beginning of the message, see verify.h. `at`: code.size() if no single instruction is to blame.
  // `buffer`: kNoBuffer if no single buffer is. `what`: the mistake in words.
  void Add(const char* rule, InstructionIndex at, BufferId buffer, const std::string& what);
  bool empty() const { return violations_.empty(); }
  std::vector<Violation> Take() { return std::move(violations_); }

 private:
  std::string InstructionText(InstructionIndex at) const;
  std::string BufferText(BufferId id) const;

  const Program& program_;
  const TrainingStep* step_;
  std::vector<Violation> violations_;
};

// The order that holds under every timing, as vector clocks. Each instruction has a clock with an entry per stream: the
// progress that the stream has certainly made when the instruction starts.
class HappensBefore {
 public:
  // REQUIRES: CheckStructure reported no violation.
  explicit HappensBefore(const Program& program);
  // True if instruction `a` has ended before instruction `b` starts, under every timing.
  bool operator()(InstructionIndex a, InstructionIndex b) const {
    return known_[b * streams_ + program_.code[a].stream] > a;
  }

 private:
  const Program& program_;
  std::size_t streams_;
  // [instruction][stream]: 1 + the last instruction of the stream that has certainly ended; 0: none.
  std::vector<InstructionIndex> known_;
};

// By buffer: the instructions that allocate and free it; kNowhere for host buffers.
struct Lifetimes {
  std::vector<InstructionIndex> alloc;
  std::vector<InstructionIndex> free;
};

// Calls f(buffer, access) for each buffer that a kernel or a copy reads or writes. Other instructions access none.
template <typename F>
void ForEachAccess(const Program& program, const Instruction& instruction, F f) {
  if (instruction.opcode == Opcode::kKernel) {
    const Kernel& kernel = program.kernels[instruction.arg];
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program.operands[kernel.operands + k];
      f(operand.buffer, operand.access);
    }
  } else if (instruction.opcode == Opcode::kCopy) {
    const Copy& copy = program.copies[instruction.arg];
    f(copy.from, Access::kRead);
    f(copy.to, Access::kWrite);
  }
}
constexpr bool Reads(Access access) { return (static_cast<int>(access) & static_cast<int>(Access::kRead)) != 0; }
constexpr bool Writes(Access access) { return (static_cast<int>(access) & static_cast<int>(Access::kWrite)) != 0; }

// Rule "structure", and clauses 2 and 3 of sim/program/program.h. If this pass reports a violation, the other passes
// must not run.
Lifetimes CheckStructure(const Program& program, const TrainingStep* step, Report& report);
// Clause 4. Two accesses conflict if they touch one buffer and one of them writes. Boxes without a common place do not
// conflict; without `step` boxes are ignored.
void CheckAccesses(const Program& program, const TrainingStep* step, const Lifetimes& lifetimes,
                   const HappensBefore& before, Report& report);
// Clause 5: buffers that share addresses are live one after the other.
void CheckArena(const Program& program, const Lifetimes& lifetimes, const HappensBefore& before, Report& report);
// A tensor whose value lies on the device between steps: its buffer that is allocated first, and the one that is freed
// last.
struct RestingTensor {
  BufferId first = kNoBuffer, last = kNoBuffer;
};
// Reports values that lie in two host buffers then (clause 10).
std::vector<RestingTensor> FindResting(const Program& program, const TrainingStep& step, const Lifetimes& lifetimes,
                                       Report& report);
// Clause 10, of an arena and a pool: nothing else has these bytes between steps.
void CheckBetweenSteps(const Program& program, const std::vector<RestingTensor>& resting, const Lifetimes& lifetimes,
                       Report& report);
// Clause 5b: every kAlloc and kFree of a device is on its one compute stream, and bytes are whole blocks. In list order no
// more than `capacity` bytes are out at once; 0: without limit. Clause 10: bytes that hold a value between steps are out
// from the beginning to the end.
void CheckCounted(const Program& program, Bytes capacity, const std::vector<RestingTensor>& resting, Report& report);
// Clause 6: a kAlloc on a copy stream starts after every earlier kFree of the device's compute streams has ended.
void CheckPool(const Program& program, const HappensBefore& before, Report& report);
// Rule "contents"; with `step` also the values of operands and those that the next step finds, rule "step". The pass
// follows list order. If clause 4 holds, every other timing gives the same values.
void CheckContents(const Program& program, const TrainingStep* step, const std::vector<RestingTensor>& resting,
                   Report& report);
// Rule "step": every op runs once, after the op before it in the step. Recomputations come besides.
void CheckOps(const Program& program, const TrainingStep& step, const HappensBefore& before, Report& report);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_INTERNAL_H_
