// What memory ought to hold while a Program runs, as fingerprints instead of numbers.
//
// Two ways to know what a kernel must read:
//
//   a step    every op in the order of the step, every tensor in memory of its own: what in-core training computes.
//             A recomputation must read and gives what its op did.
//   no step   the Program itself in list order, every buffer in memory of its own. Host buffers that nothing writes hold
//             something from the start.
//
// Both are as dull as they can be and share no code with verify, lower and layout.
#ifndef SPILLWAY_SIM_EXECUTE_FAKE_VALUES_H_
#define SPILLWAY_SIM_EXECUTE_FAKE_VALUES_H_

#include <cstdint>
#include <vector>

#include "sim/execute/fake/contents.h"
#include "sim/program/program.h"

namespace spillway {

struct ExpectedRead {
  enum class Kind { kDigest, kComplete, kNever };  // kNever: the instruction has no business with this buffer
  Kind kind = Kind::kNever;
  Bytes bytes = 0;  // from the beginning of the operand or piece on; what lies behind is rounding
  Fingerprint digest = kNothing;
};

// Of each instruction: one entry per operand of a kernel, one for the source of a copy, none for others.
struct ExpectedValues {
  std::vector<std::uint32_t> first;  // by instruction
  std::vector<ExpectedRead> reads;
  std::vector<Fingerprint> writes;
  // With a step: what every tensor holds after it.
  std::vector<Fingerprint> after;
};

// `start`: by tensor, before the step; kNothing where there is none.
ExpectedValues ValuesOfStep(const Program& program, const TrainingStep& step, const std::vector<Fingerprint>& start);
ExpectedValues ValuesOfList(const Program& program);
// By op: how many kernels run it, recomputations apart: one, or its parts.
std::vector<std::uint32_t> PartsOfOps(const Program& program, const TrainingStep& step);
// Without a step: what a host buffer holds from the start, kNothing if the Program writes it.
std::vector<Fingerprint> HostAtStart(const Program& program);

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_FAKE_VALUES_H_
