// The kernels of a session, each tied to the memory it works on: what a launch is made of before it is launched.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BOUND_KERNELS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BOUND_KERNELS_H_

#include <vector>

#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/devices/cpu/session_memory.h"
#include "calibrate/ops/bind_kernel.h"
#include "calibrate/ops/training_state.h"
#include "sim/execute/device.h"

namespace spillway {

// Made when a session begins, and goes with it.
class BoundKernels {
 public:
  // Prepares every kernel. Throws DeviceError: kRefused naming op and shape where the library refuses one or wants more
  // workspace than granted; kContract where an operand is missing, too small or outside the arena; kNoMemory.
  // All but `kernels` must outlive this.
  BoundKernels(const Session& session, CpuKernels& kernels, SessionMemory& memory, TrainingState& training);

  // On whichever thread, one at a time. `instruction` is that of a KernelCall of the session.
  void Run(std::uint32_t instruction);
  bool Has(std::uint32_t instruction) const { return row_[instruction] != kNone; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  // One for each kernel call of the session; row_ says which.
  struct Bound {
    const CpuKernel* kernel = nullptr;
    CpuArguments arguments;  // but for what changes from run to run
    TrainingRole role;
    Shape shape;  // of what the loss is computed from
  };
  void Bind(const KernelCall& call);
  const CpuKernel* Prepare(const KernelCall& call);
  void BindTraining(const KernelCall& call, Bound& bound);
  void PlaceScratch();

  const Session& session_;
  CpuKernels& kernels_;
  SessionMemory& memory_;
  TrainingState& training_;
  std::vector<Bound> bound_;
  std::vector<KernelBinding> bindings_;  // of the same
  std::vector<std::uint32_t> row_;       // by instruction
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BOUND_KERNELS_H_
