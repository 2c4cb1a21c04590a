// The kernels of a session, each tied to the memory it works on: what a launch is made of before it is launched.
#ifndef SPILLWAY_CALIBRATE_CPU_BOUND_KERNELS_H_
#define SPILLWAY_CALIBRATE_CPU_BOUND_KERNELS_H_

#include <map>
#include <utility>
#include <vector>

#include "calibrate/cpu/kernels.h"
#include "calibrate/cpu/session_memory.h"
#include "calibrate/device.h"

namespace spillway {

struct TrainingOptions {
  std::uint64_t seed = 1;  // of labels and dropout
  float learning_rate = 0.01f;
  float momentum = 0.9f;
};

// What a training session holds beside tensors: labels of the iteration, running statistics, the loss.
class TrainingState {
 public:
  explicit TrainingState(const TrainingOptions& options) : options_(options) {}

  void StartIteration(std::uint64_t iteration);  // draws labels
  void NoteLoss(double loss) { loss_ = loss; }
  double loss() const { return loss_; }  // of this iteration; NaN: none was computed
  std::uint64_t iteration() const { return iteration_; }
  const TrainingOptions& options() const { return options_; }

  // Both hold as long as this; of the same layer the same.
  std::span<const std::int32_t> Labels(std::int64_t count, std::int64_t classes);
  std::span<float> Statistics(LayerId layer, std::int64_t channels);
  std::map<LayerId, std::vector<float>> TakeStatistics() { return std::move(statistics_); }

 private:
  TrainingOptions options_;
  std::uint64_t iteration_ = 0;
  double loss_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int32_t>> labels_;  // by count and classes
  std::map<LayerId, std::vector<float>> statistics_;                                   // means, then variances
};

class BoundKernels {
 public:
  // Prepares every kernel. Throws DeviceError: kRefused naming op and shape where the library refuses one or wants more
  // workspace than granted; kContract where an operand is missing, too small or outside the arena; kNoMemory.
  // `network` is what session.step was built from. All but `kernels` must outlive this.
  BoundKernels(const Network& network, const Session& session, CpuKernels& kernels, SessionMemory& memory,
               TrainingState& training);

  // On whichever thread, one at a time. `instruction` is that of a KernelCall of the session.
  void Run(std::uint32_t instruction);
  bool Has(std::uint32_t instruction) const { return row_[instruction] != kNone; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Bound {
    const CpuKernel* kernel = nullptr;
    std::vector<void*> reads, writes;
    CpuArguments arguments;  // but for what changes from run to run
    LayerId layer = kNetworkInput;
    bool loss = false;           // its first result is what the loss is computed from
    Shape shape;                 // of that
    std::vector<Bytes> sinks{};  // sizes of results that have no buffer: by write, 0 where there is one
  };
  void Bind(const KernelCall& call);
  void BindOp(const KernelCall& call, const Op& op, Bound& bound);
  void BindOperands(const KernelCall& call, Bound& bound);
  void* AddressOf(const KernelCall& call, TensorId tensor, Access access) const;
  void Prepare(const KernelCall& call, Bound& bound);
  void BindTraining(const KernelCall& call, Bound& bound);
  void* WorkspaceOf(const KernelCall& call, const Bound& bound) const;
  void PlaceInLibrary();

  const Network& network_;
  const Session& session_;
  CpuKernels& kernels_;
  SessionMemory& memory_;
  TrainingState& training_;
  std::vector<Bound> bound_;
  std::vector<std::uint32_t> row_;  // by instruction
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_CPU_BOUND_KERNELS_H_
