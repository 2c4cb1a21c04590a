// Proves that a Program is safe under every timing, on the partial order of stream order, events and host syncs alone.
//
// verify shares no code with `lower` and `layout`, and knows no times. It uses vector clocks with one component per
// stream; instructions issued after a host sync come after everything that the host has waited for. With a TrainingStep
// it also proves that the Program computes the step: every op runs once, in order (recomputations apart), and every
// operand holds the value of the tensor that the op reads. If one pass cannot go on (an index out of range, an event
// without a record), later passes are left out.
//
// The first word of a message:
//   structure   an index out of range, an instruction on a stream that cannot run it, a copy larger than its buffers
//   clause N    of sim/program/program.h: 2 events, 3 kAlloc and kFree, 4 order of accesses, 5 addresses in the arena,
//               5b counted bytes, 6 order of allocations in a pool, 9 sections, 10 values between steps
//   contents    a read of a buffer that holds nothing yet
//   step        an op missing, repeated or out of order, a wrong operand, a stale or premature value of a tensor, a
//               part of an op that its boxes or its launch do not make, a sum that lacks a part
//
// Programs of a pool have no addresses (clause 6). There verify checks instead that allocations of copy streams come
// after earlier frees of compute streams. Of counted memory (clause 5b) it checks streams, whole blocks and, in list
// order, the bytes that are out against the capacity. All other checks are the same.
#ifndef SPILLWAY_SIM_VERIFY_VERIFY_H_
#define SPILLWAY_SIM_VERIFY_VERIFY_H_

#include <string>
#include <vector>

#include "sim/program/program.h"

namespace spillway {

// One broken clause of sim/program/program.h and its place. Verify returns all violations found; empty = the Program is
// safe.
struct Violation {
  std::uint32_t instruction = 0;  // the instruction at fault; code.size(): not one alone
  std::string message;
};
// `capacity`: bytes of each device, for counted memory; 0: without limit.
std::vector<Violation> Verify(const Program& program, const TrainingStep* step = nullptr, Bytes capacity = 0);

// Clause 7: the kWait instructions that stream order, earlier events and host syncs already imply. They cost time but
// are safe. REQUIRES: Verify(program) found nothing.
std::vector<std::uint32_t> ImpliedWaits(const Program& program);

}  // namespace spillway

#endif  // SPILLWAY_SIM_VERIFY_VERIFY_H_
