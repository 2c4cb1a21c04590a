// What memory asks of a step, whatever the plan: where it is short, and when tensors are not needed.
//
// A gap is the stretch between two consecutive uses of a tensor that may move; during it the tensor may be away. Bytes
// are those of tensors, without an allocator's rounding; times are nanoseconds.
//
// Where ops may stream operands, and run in turns with others on one part of the batch, memory asks something only at the
// start of an op that no group goes across: of what the op may stream and reads, as of any value that a later one reads, each
// byte is there by then or comes later. What it has in place, and its workspace, is there whole.
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
  bool input = false;     // has its copy on the host already
  double recompute = -1;  // nanoseconds at least; < 0: cannot be
  OpId made = kNoOp;      // its last writer before the gap
  bool streamed = false;  // the use that ends it may stream it, so that it is away even then
  OpId End() const { return streamed ? before + 1 : before; }
  bool Over(OpId op) const { return after < op && op < End(); }
};

struct MemoryNeed {
  std::vector<Nanos> elapsed;         // by op: time of all ops before it, each in its fastest way; one more at the end
  std::vector<double> beside_copies;  // by op: nanoseconds at least, in any of its ways, while copies run all along
  // By op: what it needs beyond the capacity, so run, with all kept; < 0: room is left. With streamed operands: at its start,
  // and never anything where a group may go across that.
  std::vector<Bytes> excess;
  std::vector<OpId> over_before;  // by op: ops before it with an excess; one more at the end
  OpId peak = 0;                  // the op with the largest excess whatever the workspaces
  std::vector<MemoryGap> gaps;    // those over an op with an excess, by tensor

  OpId ops() const { return static_cast<OpId>(excess.size()); }
  double Compute(OpId from, OpId to) const {  // of the ops [from, to)
    return static_cast<double>(elapsed[Index(to)] - elapsed[Index(from)]);
  }
};

MemoryNeed NeedOf(const BoundProblem& problem);

// Whether the tensor may leave for nothing: it is too small to be counted between its uses.
bool IsSmall(const BoundProblem& problem, const Tensor& tensor);

// Whether the op may stream the tensor, which is one of its operands.
bool MayStreamAt(const BoundProblem& problem, OpId op, TensorId tensor);
// Whether the op may run in turns with the one before it.
bool MayFollowInTurns(const BoundProblem& problem, OpId op);

// Whether the op may start, in parts, before all of what it reads in place is there.
bool MayStartEarly(const BoundProblem& problem, OpId op);

// Whether every op fits with every gap empty and every workspace the smallest.
bool CanFit(const BoundProblem& problem, const MemoryNeed& need);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_MEMORY_GAPS_H_
