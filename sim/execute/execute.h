// Execute() runs a Program on a device. It is the second interpreter of Programs; simulate() needs durations in place
// of the device.
//
// Execute issues the instructions in list order, as sim/program/program.h says; kHostSync blocks; the streams do the
// rest. It runs Programs with an arena and one device only. kAlloc and kFree cost nothing and reach the device in debug
// runs only.
//
//   for each iteration:   bring residents back to where the step expects them       not timed
//                         BeginStep, t0 | issue everything, EndStep | t1            step time = t1 - t0
//
// Step times come from `clock`, spans from the device. No decision depends on either.
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

// Supplies the values of tensors that outlive a step, and receives them at the end. Implemented by the caller.
class StepValues {
 public:
  virtual ~StepValues() = default;
  // Fills `bytes` with the tensor's value. Called before the first iteration for every resident, and before each later
  // iteration for the input (the next batch). Iterations count from 0, warm-up included.
  virtual void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) = 0;
  // A name for the bytes that Fill would give, or 0: no name. Equal names on the same device must mean equal bytes. A
  // device that has kept the bytes then needs no copy (ExecutionDevice::WriteKept).
  virtual std::uint64_t Identity(int /*iteration*/, TensorId) const { return 0; }
  // False: Take is not called for the tensor, and the tensor is not read back.
  virtual bool Wants(TensorId) const { return true; }
  // Receives the tensor's value. Called after the last iteration for every resident with Wants().
  virtual void Take(TensorId tensor, std::span<const std::byte> bytes) = 0;
};

struct ExecuteOptions {
  Bytes arena_bytes = 0;  // 0: as many as the Program needs. A Program that needs more than this is refused.
  int warm_up = 0;        // iterations that run first and are not reported
  int iterations = 1;
  bool instrumented = false;  // records the spans of the last iteration; this perturbs step times
  bool debug = false;         // fills freed memory with NaN and finds the high water; costs a pass over the memory
  // Not 0: issues every iteration in another order that streams, events and host syncs allow (ShuffledOrder). A race
  // shows as wrong contents or, in debug runs, as NaN. Step times have no meaning then.
  std::uint64_t shuffle_seed = 0;
  StepValues* values = nullptr;  // nullptr: all values are zero
};

struct Failure {
  Fault fault = Fault::kFailed;
  int iteration = 0;                           // warm-up included; -1: before the first one or after the last
  std::uint32_t instruction = kNoInstruction;  // the instruction that failed, as DeviceError has it
  std::string message;                         // with instruction and iteration
};

struct ExecuteResult {
  std::vector<Nanos> step_times;  // of the completed iterations, without warm-up
  Timeline timeline;              // instrumented runs: spans in order of instructions; makespan is that step's time
  Bytes high_water = 0;           // debug runs: one past the highest byte of the arena that changed
  std::optional<Failure> failure;
};

// Calls ExecutionDevice::End in every case. A DeviceError becomes `failure`; any other exception passes to the caller.
// `step` may be nullptr for devices that do not compute. REQUIRES: the Program has the structure that
// sim/verify/verify.h demands; events and addresses may be wrong.
ExecuteResult Execute(const Program& program, const TrainingStep* step, ExecutionDevice& device, const Clock& clock,
                      const ExecuteOptions& options = {});

// ---- Tensors that outlive a step, and where a Program expects and leaves them.
//
// Parameters, optimizer state, the input and small state such as running statistics have a value before the first
// instruction. The value lies in a host buffer in two cases: for an input with a host buffer, and for a tensor whose
// host buffer the Program reads before it writes it. Otherwise the value lies in the first device buffer allocated for
// the tensor. After the last instruction the value lies in the same host buffer, or else in the device buffer that is
// freed last. The first and last device buffer differ if the Program moves the tensor. To repeat the step, Execute
// copies the value back in between.

// The residents in order of tensors, without tensors that have no buffer in the Program.
// REQUIRES: the Program has the structure that sim/verify/verify.h demands.
std::vector<Resident> FindResidents(const Program& program, const TrainingStep& step);

// The location of the whole buffer.
Location LocationOf(const Program& program, BufferId id);

// ---- Other orders in which the instructions of a Program may be issued.
//
// verify proves safety on a partial order: each stream keeps its order, kWait and kHostSync follow the kRecord that
// they wait for, and instructions listed after a kHostSync follow it. Each linear extension of this partial order is an
// allowed order. A safe Program computes the same in all of them; an unsafe Program computes something else in some.
//
// The orders are drawn as in Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic
// guarantees of finding bugs" (ASPLOS 2010). Streams and the host have random priorities, and the highest priority that
// can go on does. Priorities change at a few random places. So one stream may run far ahead of the others, which a
// uniform choice hardly ever lets happen.

// Indices into program.code, each once; the same for the same seed on every machine. A wait without an earlier record
// does not constrain the order: the device reports such a mistake.
std::vector<std::uint32_t> ShuffledOrder(const Program& program, std::uint64_t seed);

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_EXECUTE_H_
