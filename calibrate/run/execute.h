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
#ifndef SPILLWAY_CALIBRATE_RUN_EXECUTE_H_
#define SPILLWAY_CALIBRATE_RUN_EXECUTE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/run/clock.h"
#include "calibrate/run/device.h"

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

// The device is given back (ExecutionDevice::End) however it ends. Devices' errors become `failure`; any other exception passes.
// `step` may be nullptr for devices that do not compute.
// REQUIRES: the Program has the structure that sim/verify/verify.h demands; events and addresses may be wrong.
ExecuteResult Execute(const Program& program, const TrainingStep* step, ExecutionDevice& device, const Clock& clock,
                      const ExecuteOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_EXECUTE_H_
