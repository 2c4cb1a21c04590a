// A plan as actions between the calls of a recorded step: what `spillway plan FILE --for torch` writes, and
// calibrate/torch/spillway_torch.py carries out in the user's own training loop. The format: reports/dump/README.md.
//
// The actions are those of the lowered Program. A framework allocates the results of a call by itself, so the file holds no
// allocations, and only those frees that the framework would not make. Waits between streams are left out: whoever
// carries the plan out orders each copy, its readers and the free of its source by events of its own. A mistaken plan
// then costs memory or time, not numbers.
//
// Tested by cli_carry_test and tests/calibrate/carrier_test.py.
#ifndef SPILLWAY_REPORTS_DUMP_CARRY_H_
#define SPILLWAY_REPORTS_DUMP_CARRY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reports/dump/dump.h"

namespace spillway {

enum class CarryKind : std::uint8_t {
  kOut,      // copy the tensor to the host
  kIn,       // allocate the tensor on the device and copy it back
  kAgain,    // run the call again, and hold its results
  kLeave,    // the tensor leaves the device; an action or a reader brings it back later
  kRelease,  // the plan needs the tensor no more: the framework's own references decide
};
const char* CarryKindName(CarryKind kind);  // "out", "in", "again", "leave", "release"

struct CarryAction {
  CarryKind kind = CarryKind::kOut;
  TensorId tensor = kNoTensor;  // of all but kAgain
  OpId op = kNoOp;              // of kAgain
};

struct Carried {
  std::vector<std::vector<CarryAction>> before;  // by op, in order; the last entry is after all ops
  std::vector<TensorId> held;  // reruns read them, so they stay from their op to their kRelease or kLeave
  std::vector<Bytes> live;     // by op: bytes live in list order while the op runs, workspace included
  Bytes host_bytes = 0;        // of all host buffers
};

// Throws UserError if the program cannot be carried out between calls: an op in parts, a tensor in several buffers,
// parameters that move. The message names the op or tensor.
Carried CarriedOut(const Program& program, const TrainingStep& step);

// The file. `recording`: the text of the recording that the step was read from; its calls and values come along, so that
// the file stands alone. Throws UserError, naming the decision, if a framework cannot carry the plan out (sim/plan/carried.h).
// REQUIRES: `evaluation` is feasible.
std::string CarryJson(const Evaluation& evaluation, const Plan& plan, const TrainingStep& step,
                      const std::string& recording, const DumpedPoint& point);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_DUMP_CARRY_H_
