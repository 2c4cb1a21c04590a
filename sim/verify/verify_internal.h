// The passes of Verify() and what they share. See sim/verify/verify.h; nothing else includes this.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_INTERNAL_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_INTERNAL_H_

#include <string>
#include <utility>
#include <vector>

#include "sim/verify/verify.h"

namespace spillway::verifying {

using InstructionIndex = std::uint32_t;  // in Program::code
constexpr InstructionIndex kNowhere = 0xffffffffu;

// Collects violations and words them: what is broken, the instruction, the buffer by its tensor's name.
class Report {
 public:
  Report(const Program& program, const TrainingStep* step) : program_(program), step_(step) {}
  // `at` may be code.size(), `buffer` kNoBuffer.
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

// For each instruction and each stream: how far that stream is known to have come when the instruction starts.
class HappensBefore {
 public:
  // REQUIRES: CheckStructure found nothing.
  explicit HappensBefore(const Program& program);
  // Whether `a` has ended when `b` starts, under every timing.
  bool operator()(InstructionIndex a, InstructionIndex b) const {
    return known_[b * streams_ + program_.code[a].stream] > a;
  }

 private:
  const Program& program_;
  std::size_t streams_;
  std::vector<InstructionIndex>
      known_;  // [instruction][stream]: 1 + the last instruction of that stream known to have ended
};

// Where each device buffer is allocated and freed; kNowhere for host buffers.
struct Lifetimes {
  std::vector<InstructionIndex> alloc;
  std::vector<InstructionIndex> free;
};

// Calls f(buffer, access) for all that a kernel or copy touches.
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

// structure, clauses 2 and 3. The later passes rely on it.
Lifetimes CheckStructure(const Program& program, const TrainingStep* step, Report& report);
// Clause 4. Without a step buffers are looked at as wholes.
void CheckAccesses(const Program& program, const TrainingStep* step, const Lifetimes& lifetimes,
                   const HappensBefore& before, Report& report);
// Clause 5.
void CheckArena(const Program& program, const Lifetimes& lifetimes, const HappensBefore& before, Report& report);
// Clause 6.
void CheckPool(const Program& program, const HappensBefore& before, Report& report);
// contents; with a step also the values. Follows list order: where clause 4 holds every timing gives the same values.
void CheckContents(const Program& program, const TrainingStep* step, Report& report);
// step: every op once, each following the one before.
void CheckOps(const Program& program, const TrainingStep& step, const HappensBefore& before, Report& report);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_INTERNAL_H_
