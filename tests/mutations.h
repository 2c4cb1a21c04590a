// All ways to break a Program by one small change, each with the verdict that Verify must give.
//
// The Program given must be safe. With `step` it carries ops and tensors, and the verdicts are those of
// Verify(program, &step).
#ifndef SPILLWAY_TESTS_MUTATIONS_H_
#define SPILLWAY_TESTS_MUTATIONS_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/program.h"
#include "tests/reference_order.h"
#include "tests/rest_instead.h"

namespace spillway {

enum class MutationVerdict { kReject, kAccept };

struct Mutation {
  std::string what;    // "drop", "free early", ...
  std::size_t at = 0;  // instruction, or buffer for "move address"
  MutationVerdict verdict = MutationVerdict::kReject;
  const char* reason = "";  // of kAccept: why the changed Program is as safe as the given one
};

// Calls f(mutation, program) for each; the Program is valid during the call only.
template <typename F>
class Mutations {
 public:
  Mutations(const Program& program, const TrainingStep* step, F f)
      : program_(program), step_(step), f_(f), touches_(TouchesByBuffer(program)) {}

  void All() {
    for (std::size_t i = 0; i < program_.code.size(); ++i) {
      Drop(i);
      Repeat(i);
      FreeEarly(i);
      AllocLate(i);
      SwapWithNext(i);
      ChangeOperands(i);
      if (program_.code[i].opcode == Opcode::kCopy) ChangeCopy(i);
    }
    for (BufferId b = 0; program_.memory == ProgramMemory::kArena && b < program_.buffers.size(); ++b) MoveAddress(b);
  }

 private:
  using Code = std::vector<Instruction>;
  static std::ptrdiff_t Step(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

  void Give(const char* what, std::size_t at, const Program& changed) { f_(Mutation{what, at}, changed); }
  void GiveSafe(const char* what, std::size_t at, const Program& changed, const char* reason) {
    f_(Mutation{what, at, MutationVerdict::kAccept, reason}, changed);
  }

  // Clause 7 leaves no wait that is not needed, except where the modelled system synchronises more than it must: then
  // it depends on what relies on it.
  void Drop(std::size_t i) {
    const Instruction in = program_.code[i];
    const bool works = in.opcode == Opcode::kKernel || in.opcode == Opcode::kCopy;
    if (works && step_ == nullptr) return;  // nothing says that it had to be done
    Program changed = program_;
    changed.code.erase(changed.code.begin() + Step(i));
    if (in.opcode == Opcode::kCopy && HostHasIt(i)) {
      GiveSafe("drop", i, changed, "the host still holds what was copied out before");
    } else if (in.opcode == Opcode::kCopy && MayRestInstead(program_, step_, touches_, i)) {
      GiveSafe("drop", i, changed, "the value lies on the device between steps, at addresses of its own");
    } else if (in.opcode == Opcode::kHostSync && OrderHolds(changed)) {
      GiveSafe("drop", i, changed, "a barrier of the modelled system, and nothing relies on it");
    } else {
      Give("drop", i, changed);
    }
  }

  // Whether copy i brings out what an earlier copy has brought out, nothing having written the tensor since.
  bool HostHasIt(std::size_t i) const {
    const Copy& copy = program_.copies[program_.code[i].arg];
    if (copy.direction != Direction::kDeviceToHost) return false;
    bool has = false;
    for (std::size_t j = 0; j < i; ++j) {
      const Instruction in = program_.code[j];
      if (in.opcode == Opcode::kCopy) {
        const Copy& other = program_.copies[in.arg];
        has = has || (other.to == copy.to && other.offset == copy.offset && other.bytes == copy.bytes &&
                      SameBox(other.box, copy.box));
      } else if (in.opcode == Opcode::kKernel && !program_.kernels[in.arg].recomputation) {
        has = has && !WritesTensor(program_.kernels[in.arg], program_.buffers[copy.to].tensor);
      }
    }
    return has;
  }
  bool SameBox(BoxId a, BoxId b) const {
    return a == b || (a != kWhole && b != kWhole && program_.boxes[a] == program_.boxes[b]);
  }
  bool WritesTensor(const Kernel& kernel, TensorId tensor) const {
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program_.operands[kernel.operands + k];
      if (operand.access != Access::kRead && program_.buffers[operand.buffer].tensor == tensor) return true;
    }
    return false;
  }

  // More order than needed is safe; anything else happens once.
  void Repeat(std::size_t i) {
    const Opcode opcode = program_.code[i].opcode;
    if (opcode == Opcode::kKernel || opcode == Opcode::kCopy) return;
    Program changed = program_;
    changed.code.insert(changed.code.begin() + Step(i), program_.code[i]);
    if (opcode == Opcode::kWait || opcode == Opcode::kHostSync) {
      GiveSafe("repeat", i, changed, "waiting twice for one event is waiting once");
    } else {
      Give("repeat", i, changed);
    }
    if (opcode != Opcode::kRecord) return;
    changed.code[i] = program_.code[i];
    changed.code[i + 1] = {.opcode = Opcode::kHostSync, .cause = Cause::kBarrier, .arg = program_.code[i].arg};
    GiveSafe("sync after", i, changed, "the host waits more often than it must");
  }

  void Move(const char* what, std::size_t from, std::size_t to) {
    Program changed = program_;
    Code& code = changed.code;
    const auto a = code.begin() + Step(from), b = code.begin() + Step(to);
    if (from < to) {
      std::rotate(a, a + 1, b + 1);
    } else {
      std::rotate(b, a, a + 1);
    }
    Give(what, from, changed);
  }

  // In front of the last use, or of kAlloc where there is none.
  void FreeEarly(std::size_t i) {
    if (program_.code[i].opcode != Opcode::kFree) return;
    const std::vector<Touch>& touches = touches_[program_.code[i].arg];
    Move("free early", i, touches[touches.size() - 2].at);
  }

  // Behind the first use, or kFree where there is none.
  void AllocLate(std::size_t i) {
    if (program_.code[i].opcode == Opcode::kAlloc) Move("alloc late", i, touches_[program_.code[i].arg][1].at);
  }

  // Exchanges a kernel with the next one of its stream where the second one reads what the first one makes.
  void SwapWithNext(std::size_t i) {
    if (program_.code[i].opcode != Opcode::kKernel) return;
    std::size_t j = i + 1;
    const auto works = [&](const Instruction& in) {
      return in.stream == program_.code[i].stream && (in.opcode == Opcode::kKernel || in.opcode == Opcode::kCopy);
    };
    while (j < program_.code.size() && !works(program_.code[j])) ++j;
    if (j == program_.code.size() || !FirstContentFrom(i, j)) return;
    Program changed = program_;
    std::swap(changed.code[i], changed.code[j]);
    Give("swap with next", i, changed);
  }

  // Whether j reads a buffer that nobody has written before i does.
  bool FirstContentFrom(std::size_t i, std::size_t j) const {
    return std::any_of(touches_.begin(), touches_.end(), [&](const std::vector<Touch>& touches) {
      return FirstWrite(touches) == i && std::any_of(touches.begin(), touches.end(), [&](const Touch& touch) {
               return touch.at == j && ReadsAt(j, static_cast<BufferId>(&touches - touches_.data()));
             });
    });
  }
  bool ReadsAt(std::size_t i, BufferId b) const {
    const Kernel& kernel = program_.kernels[program_.code[i].arg];
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program_.operands[kernel.operands + k];
      if (operand.buffer == b && operand.access != Access::kWrite) return true;
    }
    return false;
  }
  // Instruction of the first kernel or copy that writes; code.size() where there is none.
  std::size_t FirstWrite(const std::vector<Touch>& touches) const {
    for (const Touch& touch : touches) {
      const Opcode opcode = program_.code[touch.at].opcode;
      if (touch.writes && opcode != Opcode::kAlloc && opcode != Opcode::kFree) return touch.at;
    }
    return program_.code.size();
  }

  void ChangeOperands(std::size_t i) {
    if (program_.code[i].opcode != Opcode::kKernel) return;
    const Kernel& kernel = program_.kernels[program_.code[i].arg];
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand operand = program_.operands[kernel.operands + k];
      for (const BufferId other : Others(operand.buffer, i)) {
        Program changed = program_;
        changed.operands[kernel.operands + k].buffer = other;
        Give("other buffer", i, changed);
      }
      if (operand.access == Access::kRead || !NeedsWrite(i, kernel, operand.buffer)) continue;
      Program changed = program_;
      changed.operands[kernel.operands + k].access = Access::kRead;
      Give("read only", i, changed);
    }
  }

  // Where a buffer holds the same already (a mask written again by a recomputation) reading it does as well.
  bool NeedsWrite(std::size_t i, const Kernel& kernel, BufferId b) const {
    if (step_ != nullptr && !kernel.recomputation) return true;
    return FirstWrite(touches_[b]) == i && !ReadsAt(i, b);
  }

  void ChangeCopy(std::size_t i) {
    const std::uint32_t row = program_.code[i].arg;
    for (const bool from : {true, false}) {
      for (const BufferId other : Others(from ? program_.copies[row].from : program_.copies[row].to, i)) {
        Program changed = program_;
        (from ? changed.copies[row].from : changed.copies[row].to) = other;
        Give("other buffer", i, changed);
      }
    }
  }

  // Up to two buffers of the same size and place that instruction i must not use instead: one that is not live, and
  // one that belongs to another tensor.
  std::vector<BufferId> Others(BufferId b, std::size_t i) const {
    const Buffer& buffer = program_.buffers[b];
    BufferId dead = kNoBuffer, wrong = kNoBuffer;
    for (BufferId other = 0; other < program_.buffers.size(); ++other) {
      const Buffer& candidate = program_.buffers[other];
      if (other == b || candidate.bytes != buffer.bytes || candidate.place != buffer.place) continue;
      if ((candidate.kind == BufferKind::kHost) != (buffer.kind == BufferKind::kHost)) continue;
      if (!LiveAt(other, i)) {
        dead = other;
      } else if (step_ != nullptr && candidate.tensor != buffer.tensor) {
        wrong = other;
      }
    }
    std::vector<BufferId> others;
    if (dead != kNoBuffer) others.push_back(dead);
    if (wrong != kNoBuffer) others.push_back(wrong);
    return others;
  }
  bool LiveAt(BufferId b, std::size_t i) const {
    if (program_.buffers[b].kind == BufferKind::kHost) return true;
    return touches_[b].front().at < i && i < touches_[b].back().at;
  }

  // Onto the last byte of a buffer that is live when this one is allocated.
  void MoveAddress(BufferId b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind == BufferKind::kHost || buffer.bytes == 0) return;
    for (BufferId other = 0; other < program_.buffers.size(); ++other) {
      const Buffer& victim = program_.buffers[other];
      if (other == b || victim.kind == BufferKind::kHost || victim.bytes == 0) continue;
      if (!LiveAt(other, touches_[b].front().at)) continue;
      Program changed = program_;
      changed.buffers[b].offset = victim.offset + victim.bytes - 1;
      Give("move address", b, changed);
      return;
    }
  }

  const Program& program_;
  const TrainingStep* step_;
  F f_;
  std::vector<std::vector<Touch>> touches_;  // by buffer, in list order
};

template <typename F>
void ForEachMutation(const Program& program, const TrainingStep* step, F f) {
  Mutations<F>(program, step, f).All();
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_MUTATIONS_H_
