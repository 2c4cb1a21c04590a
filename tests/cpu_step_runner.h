// Trains a network on the CPU device the plain way: one buffer per tensor, op by op in the step's order. What
// out-of-core runs must reproduce.
#ifndef SPILLWAY_TESTS_CPU_STEP_RUNNER_H_
#define SPILLWAY_TESTS_CPU_STEP_RUNNER_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/unroll.h"
#include "tests/cpu_reference.h"

namespace spillway {

class StepRunner {
 public:
  StepRunner(Network network, const StepOptions& options)
      : network_(std::move(network)), step_(BuildTrainingStep(network_, options)) {
    for (const Tensor& tensor : step_.tensors) buffers_.push_back(std::make_unique<GuardedMemory>(tensor.bytes));
    for (OpId op = 0; op < static_cast<OpId>(step_.ops.size()); ++op) {
      kernels_used_.push_back(&kernels_.Prepare(CallOf(step_.ops[Index(op)])));
      workspace_ = std::max(workspace_, kernels_used_.back()->workspace());
    }
    scratch_ = std::make_unique<GuardedMemory>(workspace_);
    running_.resize(step_.layer_names.size());
    FillTensors();
  }

  const TrainingStep& step() const { return step_; }
  std::span<float> Data(TensorId id) {
    const std::size_t k = static_cast<std::size_t>(id);
    return {static_cast<float*>(buffers_[k]->data()), static_cast<std::size_t>(step_.tensors[k].bytes) / sizeof(float)};
  }
  TensorId Find(const std::string& name) const {
    for (std::size_t k = 0; k < step_.tensors.size(); ++k) {
      if (step_.tensors[k].name == name) return static_cast<TensorId>(k);
    }
    FAIL("no tensor " << name);
    return kNoTensor;
  }
  const std::vector<Values>& running_statistics() const { return running_; }

  void Run(OpId begin, OpId end, bool recomputation = false) {
    for (OpId op = begin; op < end; ++op) RunOp(op, recomputation);
  }
  void Forward(bool recomputation = false) { Run(0, step_.first_backward, recomputation); }
  void Backward() { Run(step_.first_backward, step_.first_update); }
  void Update() {
    Run(step_.first_update, static_cast<OpId>(step_.ops.size()));
    ++iteration;
  }
  double Loss() {
    double sum = 0;
    for (const Op& op : step_.ops) {
      if (!TraitsOf(op.kind).loss || op.pass != Pass::kForward) continue;
      const Shape shape = LossShape(op.kind, op.shape.in);
      sum += op.details.loss_weight *
             LossOf(op.kind, op.details.loss, shape, Data(op.writes[0]), labels_[Index(op.layer)]);
    }
    return sum;
  }
  double LossOfForward() {
    Forward(true);
    return Loss();
  }
  bool BuffersIntact() const {
    bool intact = scratch_->GuardIntact();
    for (const auto& buffer : buffers_) intact = intact && buffer->GuardIntact();
    return intact;
  }

  float learning_rate = 0.01f;
  std::uint64_t iteration = 0;  // what dropout's mask depends on

 private:
  void RunOp(OpId id, bool recomputation) {
    const Op& op = step_.ops[static_cast<std::size_t>(id)];
    std::vector<void*> reads, writes;
    for (const TensorId t : op.reads) reads.push_back(buffers_[static_cast<std::size_t>(t)]->data());
    for (const TensorId t : op.writes) writes.push_back(buffers_[static_cast<std::size_t>(t)]->data());
    CpuArguments arguments{.reads = reads,
                           .writes = writes,
                           .workspace = scratch_->data(),
                           .random_stream = RandomStream(1, iteration, op.layer),
                           .labels = labels_[Index(op.layer)],
                           .learning_rate = learning_rate,
                           .iteration = iteration};
    Values& running = running_[static_cast<std::size_t>(op.layer)];
    if (op.kind == OpKind::kBatchNorm && op.pass == Pass::kForward && !recomputation) {
      running.resize(2 * static_cast<std::size_t>(op.shape.in.c));
      arguments.running_statistics = running;
    }
    kernels_used_[static_cast<std::size_t>(id)]->Run(arguments);
  }

  // Weights by He et al. 2015 (arXiv 1502.01852), scales 1, everything else of the parameters and momenta 0; an image
  // that tells the classes apart. By name, so that the options of a step make no difference.
  void FillTensors() {
    for (std::size_t k = 0; k < step_.tensors.size(); ++k) {
      const Tensor& tensor = step_.tensors[k];
      const std::span<float> data = Data(static_cast<TensorId>(k));
      const bool weight = tensor.name.ends_with(":weight");
      if (tensor.use == TensorClass::kInput && tensor.type == DataType::kInt64) FillTokens(static_cast<TensorId>(k));
      if (tensor.use == TensorClass::kInput && tensor.type != DataType::kInt64) Fill(data, "input", 1);
      if (tensor.use == TensorClass::kOptimizerState) std::fill(data.begin(), data.end(), 0.0f);
      if (tensor.use != TensorClass::kParameter) continue;
      const double fan_in = static_cast<double>(tensor.shape.Elements() / tensor.shape.n);
      std::fill(data.begin(), data.end(), tensor.name.ends_with(":scale") ? 1.0f : 0.0f);
      if (weight) Fill(data, tensor.name, static_cast<float>(std::sqrt(6 / fan_in)));  // uniform of variance 2 / fan-in
    }
    for (const Layer& layer : network_.layers) {
      std::vector<std::int32_t>& labels = labels_.emplace_back();
      const std::int64_t places = layer.shape.Spatial(), labelled = layer.kind->loss ? layer.shape.n * places : 0;
      for (std::int64_t k = 0; k < labelled; ++k)
        labels.push_back(static_cast<std::int32_t>(k / places % layer.shape.c));
    }
  }
  // Numbers that every embedding has.
  void FillTokens(TensorId id) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Op& op : step_.ops) {
      if (op.kind == OpKind::kEmbedding) least = std::min(least, op.shape.in.c);
    }
    auto* const tokens = static_cast<std::int64_t*>(buffers_[Index(id)]->data());
    for (std::int64_t i = 0; i < step_.tensors[Index(id)].shape.Elements(); ++i) tokens[i] = i * 7919 % 101 % least;
  }
  static void Fill(std::span<float> data, const std::string& name, float magnitude) {
    unsigned seed = 1;
    for (const char letter : name) seed = seed * 31 + static_cast<unsigned char>(letter);
    const Values values = RandomValues(data.size(), seed);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = magnitude * values[i];
  }

  Network network_;
  TrainingStep step_;
  CpuKernels kernels_;
  std::vector<const CpuKernel*> kernels_used_;  // by op
  std::vector<std::unique_ptr<GuardedMemory>> buffers_;
  Bytes workspace_ = 0;
  std::unique_ptr<GuardedMemory> scratch_;
  std::vector<std::vector<std::int32_t>> labels_;  // by layer
  std::vector<Values> running_;                    // by layer
};

// Slope of the loss when a parameter moves along `direction`, a unit vector.
inline double Slope(StepRunner& run, const std::string& parameter, const Values& direction, float step) {
  const std::span<float> data = run.Data(run.Find(parameter));
  const Values start(data.begin(), data.end());
  const auto loss_at = [&](float distance) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = start[i] + distance * direction[i];
    return run.LossOfForward();
  };
  const double slope = (loss_at(step) - loss_at(-step)) / (2 * static_cast<double>(step));
  std::copy(start.begin(), start.end(), data.begin());
  return slope;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CPU_STEP_RUNNER_H_
