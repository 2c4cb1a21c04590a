// The memory needs of a step under every plan: the ops at which memory is short, and the gaps in which tensors may be
// away.
//
// A gap is the time between two consecutive uses of a tensor that may move. Bytes are those of tensors, without an
// allocator's rounding; times are nanoseconds.
//
// If ops may stream operands and take turns on parts of the batch, needs exist only at the start of an op that no group
// crosses. Each byte of an operand that the op may stream, or of a value that a later op reads, is on the device at
// that moment or comes later. Operands that the op cannot stream, and its workspace, are on the device as a whole.
#ifndef SPILLWAY_SIM_BOUNDS_MEMORY_GAPS_H_
#define SPILLWAY_SIM_BOUNDS_MEMORY_GAPS_H_

#include <vector>

#include "sim/bounds/memory_bound.h"

namespace spillway {

struct MemoryGap {
  TensorId tensor = kNoTensor;
  OpId after = kNoOp;
  OpId before = kNoOp;
  Bytes bytes = 0;
  bool input = false;     // the host holds it already
  double recompute = -1;  // the least nanoseconds to recompute it; < 0: it cannot be recomputed
  OpId made = kNoOp;      // its last writer before the gap
  bool streamed = false;  // the use that ends the gap may stream the tensor, which may be away even then
  OpId End() const { return streamed ? before + 1 : before; }
  bool Over(OpId op) const { return after < op && op < End(); }
};

struct MemoryNeed {
  std::vector<Nanos> elapsed;         // by op: time of all ops before it, each in its fastest way; one more at the end
  std::vector<double> beside_copies;  // by op: the least nanoseconds of any of its ways while copies run throughout
  // By op, in its fastest way with all kept: bytes needed beyond the capacity; < 0: so many bytes are free. With
  // streamed operands: at the op's start, and never positive if a group may cross it.
  std::vector<Bytes> excess;
  std::vector<OpId> over_before;  // by op: ops before it with an excess; one more at the end
  OpId peak = 0;                  // the op with the largest excess at the smallest workspaces
  std::vector<MemoryGap> gaps;    // the gaps over an op with an excess, by tensor

  OpId ops() const { return static_cast<OpId>(excess.size()); }
  double Compute(OpId from, OpId to) const {  // of the ops [from, to)
    return static_cast<double>(elapsed[Index(to)] - elapsed[Index(from)]);
  }
};

MemoryNeed NeedOf(const BoundProblem& problem);

// The least nanoseconds of any of an op's ways while copies run throughout.
double LeastBesideCopies(const std::vector<OpWay>& ways);

// True if the tensor is too small to be counted between its uses.
bool IsSmall(const BoundProblem& problem, const Tensor& tensor);

// True if the op may stream `tensor`, one of its operands.
bool MayStreamAt(const BoundProblem& problem, OpId op, TensorId tensor);
// True if the op may take turns with the op before it.
bool MayFollowInTurns(const BoundProblem& problem, OpId op);

// True if the op may start, in parts, before its operands are on the device as a whole.
bool MayStartEarly(const BoundProblem& problem, OpId op);

// True if every op fits with all tensors of gaps away and with the smallest workspaces.
bool CanFit(const BoundProblem& problem, const MemoryNeed& need);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_MEMORY_GAPS_H_
