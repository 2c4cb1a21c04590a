// Proves that a Program is safe under every timing, on the partial order of stream order, events and host syncs alone.
//
// Shares no code with `lower` and `layout` and knows no times: vector clocks, one component per stream; what the host
// has waited for counts for everything issued later. With a TrainingStep it also proves that the Program computes the
// step: every op once in its order (recomputations apart), every operand holding the value of the tensor that the op
// reads. Where one pass cannot go on (an index out of range, an event without a record) the later ones are left out.
//
// What a message begins with:
//   structure   an index out of range, an instruction on a stream that cannot run it, a copy larger than its buffers
//   clause N    of sim/program/program.h: 2 events, 3 kAlloc and kFree, 4 order of accesses, 5 addresses in the arena,
//               6 order of allocations in a pool, 9 sections
//   contents    a read of a buffer that holds nothing yet
//   step        an op missing, repeated or out of order, a wrong operand, a stale or premature value of a tensor, a
//               part of an op that its boxes or its launch do not make, a sum that lacks a part
//
// In Programs of a pool addresses are not checked, as clause 6 gives none, but that what copy streams allocate comes
// after what compute streams freed before; everything else is.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_H_

#include <string>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

// Which clause of sim/program/program.h is broken and where; empty = the Program is safe.
struct Violation {
  std::uint32_t instruction = 0;  // code.size() where no single instruction is to blame
  std::string message;
};
std::vector<Violation> Verify(const Program& program, const TrainingStep* step = nullptr);

// Clause 7: the kWait instructions that wait for what stream order, earlier events and host syncs imply anyhow.
// They cost time and are not unsafe. REQUIRES: Verify(program) found nothing.
std::vector<std::uint32_t> ImpliedWaits(const Program& program);

}  // namespace spillway

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_H_
