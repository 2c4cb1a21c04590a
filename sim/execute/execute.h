// Runs a Program for real: the interpreter beside simulate() that needs a device instead of durations.
//
// The list is walked as sim/program/program.h says: list order is issue order, kHostSync blocks, streams do the rest. Arena
// Programs of one device only; kAlloc and kFree cost nothing and are passed on in debug runs alone.
//
//   for each iteration:   bring residents back to where the step expects them       not timed
//                         BeginStep, t0 | issue everything, EndStep | t1            step time = t1 - t0
//
// Times come from `clock` and spans from the device; neither enters any decision.
//
// Tested by execute_test, fake_device_test (tests/).
#ifndef SPILLWAY_SIM_EXECUTE_EXECUTE_H_
#define SPILLWAY_SIM_EXECUTE_EXECUTE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/execute/clock.h"
#include "sim/execute/device.h"
#include "sim/program/program.h"

namespace spillway {

// Gives the tensors that outlive a step their values, and takes their results.
class StepValues {
 public:
  virtual ~StepValues() = default;
  // Before the first iteration for every resident, before each later one for the input: the next batch. Warm-up counts.
  virtual void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) = 0;
  // Not 0: what Fill gives has this name, and nothing else that is ever given to the same device has it. Then a device
  // that has kept it need not be brought it again.
  virtual std::uint64_t Identity(int /*iteration*/, TensorId) const { return 0; }
  // Whether Take is to be told of it; what nobody wants is not read back.
  virtual bool Wants(TensorId) const { return true; }
  // After the last iteration, for every resident that is wanted.
  virtual void Take(TensorId tensor, std::span<const std::byte> bytes) = 0;
};

struct ExecuteOptions {
  Bytes arena_bytes = 0;  // 0: as many as the Program needs. A Program that needs more is refused.
  int warm_up = 0;        // iterations that are run first and not reported
  int iterations = 1;
  bool instrumented = false;  // take spans, of the last iteration; perturbs step times
  bool debug = false;         // freed memory filled with NaN, highest byte looked for; costs a pass over memory
  // Not 0: every iteration is issued in another order that streams, events and host syncs allow. Races show as wrong
  // contents or, in debug runs, as NaN. Times mean nothing.
  std::uint64_t shuffle_seed = 0;
  StepValues* values = nullptr;  // nullptr: zeros
};

struct Failure {
  Fault fault = Fault::kFailed;
  int iteration = 0;                           // warm-up included; -1: before the first one or after the last
  std::uint32_t instruction = kNoInstruction;  // to blame
  std::string message;                         // names instruction and iteration
};

struct ExecuteResult {
  std::vector<Nanos> step_times;  // of the iterations that were completed
  Timeline timeline;              // instrumented runs: spans in order of instructions; makespan: that step's time
  Bytes high_water = 0;           // debug runs: one past the highest byte of the arena that changed
  std::optional<Failure> failure;
};

// The device is given back (ExecutionDevice::End) however it ends. Devices' errors become `failure`; any other
// exception passes. `step` may be nullptr for devices that do not compute. REQUIRES: the Program has the structure that
// sim/verify/verify.h demands; events and addresses may be wrong.
ExecuteResult Execute(const Program& program, const TrainingStep* step, ExecutionDevice& device, const Clock& clock,
                      const ExecuteOptions& options = {});

// ---- Tensors that outlive a step, and where a Program expects and leaves them.
//
// Parameters, optimizer state, the input and small state such as running statistics have a value before the first
// instruction. It is on the host for the input, if that has a host buffer, and wherever the Program reads a host buffer
// of the tensor before it writes it; elsewhere in the device buffer that is allocated for the tensor first. After the
// last instruction it is in that host buffer again, else in the device buffer that is freed last. The two device
// buffers differ where the Program moves the tensor: whoever repeats the step carries the value back in between.

// In order of tensors. Those without any buffer in the Program are left out.
// REQUIRES: the Program has the structure that sim/verify/verify.h demands.
std::vector<Resident> FindResidents(const Program& program, const TrainingStep& step);

// The whole buffer.
Location LocationOf(const Program& program, BufferId id);

// ---- Other orders in which the instructions of a Program may be issued.
//
// Any order that keeps each stream's own order, puts kWait and kHostSync behind the kRecord that they wait for, and
// whatever is listed after a kHostSync behind that, is a linear extension of the partial order on which verify proves
// safety: a safe Program computes the same in all of them, an unsafe one does not in some. Drawn as in Burckhardt,
// Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding bugs" (ASPLOS 2010):
// streams and the host have random priorities, the highest one that can go on does, and priorities change at a few
// random places. So one stream runs far ahead of the others, which uniform choice hardly ever lets happen.

// Indices into program.code, each once. The same for the same seed on every machine. Of a wait without an earlier
// record nothing is asked: that is the device's to report.
std::vector<std::uint32_t> ShuffledOrder(const Program& program, std::uint64_t seed);

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_EXECUTE_H_
