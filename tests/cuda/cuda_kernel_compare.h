// Kernels of a CUDA device, real or not, against those of the CPU device, on the same numbers.
#ifndef SPILLWAY_TESTS_CUDA_CUDA_KERNEL_COMPARE_H_
#define SPILLWAY_TESTS_CUDA_CUDA_KERNEL_COMPARE_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/calls.h"
#include "model/kernels/kernel_form.h"
#include "model/network/network.h"
#include "model/profile/launch_text.h"
#include "model/profile/profile_text.h"
#include "model/unroll/unroll.h"
#include "sim/execute/device.h"
#include "tests/cpu_step_runner.h"
#include "tests/cuda/max_pool_ties.h"

namespace spillway {

class DeviceBuffer {
 public:
  DeviceBuffer(CudaCalls& calls, Bytes bytes) : calls_(calls), bytes_(bytes), memory_(calls.Malloc(bytes)) {}
  ~DeviceBuffer() { calls_.Free(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* data() const { return memory_; }
  Bytes bytes() const { return bytes_; }
  void Put(const void* from, CudaStream* stream) {
    calls_.Copy(memory_, from, bytes_, Direction::kHostToDevice, stream);
    calls_.Synchronize(stream);
  }
  template <typename T>
  std::vector<T> Get(CudaStream* stream) const {
    std::vector<T> values(static_cast<std::size_t>(bytes_) / sizeof(T));
    calls_.Copy(values.data(), memory_, bytes_, Direction::kDeviceToHost, stream);
    calls_.Synchronize(stream);
    return values;
  }

 private:
  CudaCalls& calls_;
  Bytes bytes_;
  void* memory_;
};

// Runs training steps on the CPU and repeats every op on the device with what the CPU's buffers held before it. Results
// that are not added to hold NaN on the device before, and its workspace is exactly as large as asked for. A library may
// list an algorithm and then refuse it: that is counted and told, and one success per op is enough.
class StepCompare {
 public:
  StepCompare(CudaCalls& calls, const Network& network, const StepOptions& options, double tolerance)
      : calls_(calls),
        network_(network),
        cpu_(network, options),
        tolerance_(tolerance),
        stream_(calls.MakeStream(false)) {
    for (const Tensor& tensor : step().tensors) buffers_.push_back(std::make_unique<DeviceBuffer>(calls, tensor.bytes));
    const Shape& scores = network.layers.back().shape;
    Values one_hot(Count(scores), 0.0f);
    for (std::int64_t n = 0; n < scores.n; ++n) one_hot[static_cast<std::size_t>(n * scores.c + n % scores.c)] = 1;
    labels_ = std::make_unique<DeviceBuffer>(calls, static_cast<Bytes>(one_hot.size() * sizeof(float)));
    labels_->Put(one_hot.data(), stream_);
  }
  ~StepCompare() { calls_.Destroy(stream_); }
  StepCompare(const StepCompare&) = delete;
  StepCompare& operator=(const StepCompare&) = delete;

  // Convolutions that have the same launch as one before run on the CPU alone.
  void EachConvolutionOnce() { once_ = true; }
  const TrainingStep& step() const { return cpu_.step(); }
  int compared() const { return compared_; }
  const std::vector<std::string>& refused() const { return refused_; }  // op, algorithm and what the library said

  void Run() {
    for (OpId op = 0; op < static_cast<OpId>(step().ops.size()); ++op) RunOp(op);
    ++cpu_.iteration;
  }

 private:
  static bool IsDropout(const Op& op) { return op.kind == OpKind::kDropout && op.pass == Pass::kForward; }
  static bool SavesDeviation(const Op& op) { return op.kind == OpKind::kBatchNorm && op.pass == Pass::kForward; }
  const Tensor& TensorOf(TensorId id) const { return step().tensors[static_cast<std::size_t>(id)]; }
  DeviceBuffer& BufferOf(TensorId id) { return *buffers_[static_cast<std::size_t>(id)]; }

  // What an algorithm of an op came to.
  struct Outcome {
    std::int32_t algorithm = 0;
    bool refused = false;
    std::vector<Values> writes{};
    Values running{};
    std::vector<unsigned char> mask{};  // of a dropout
  };

  void RunOp(OpId id) {
    const Op& op = step().ops[static_cast<std::size_t>(id)];
    const OpCall call = CallOf(step().ops[Index(id)]);
    const bool once = once_ && op.kind == OpKind::kConvolution;
    if (once && !seen_.insert(MeasuredKey(MeasuredOpOf(call.launch))).second) return cpu_.Run(id, id + 1);
    std::vector<Outcome> outcomes{Try(op, call, call.launch.algorithm)};
    for (const CudaAlgorithm& found : calls_.Algorithms(call)) outcomes.push_back(Try(op, call, found.algorithm));
    cpu_.Run(id, id + 1);
    int succeeded = 0;
    for (const Outcome& outcome : outcomes) {
      if (outcome.refused) continue;
      INFO(op.name << " algorithm " << outcome.algorithm);
      ++succeeded;
      CompareWrites(op, outcome, IsWinograd(call.launch, outcome.algorithm) ? 1e-3 : tolerance_);
      if (!outcome.running.empty()) {
        const Values& expected = cpu_.running_statistics()[static_cast<std::size_t>(op.layer)];
        CHECK(Difference(outcome.running, expected) < tolerance_);
      }
    }
    INFO(op.name << ", of " << outcomes.size()
                 << " tries; refused last: " << (refused_.empty() ? "" : refused_.back()));
    CHECK(succeeded > 0);
  }

  // Throws what is not the launch's own matter: a device that does not go on.
  Outcome Try(const Op& op, OpCall call, std::int32_t algorithm) {
    call.launch.algorithm = algorithm;
    Outcome outcome{.algorithm = algorithm};
    Upload(op, call.launch.accumulate);
    try {
      outcome.running = RunOnDevice(op, call);
    } catch (const DeviceError& error) {
      if (error.fault() != Fault::kRefused && error.fault() != Fault::kFailed) throw;
      calls_.SynchronizeDevice();
      refused_.push_back(op.name + " algorithm " + std::to_string(algorithm) + ": " + error.what());
      outcome.refused = true;
      return outcome;
    }
    for (const TensorId write : op.writes) outcome.writes.push_back(BufferOf(write).Get<float>(stream_));
    if (IsDropout(op)) outcome.mask = BufferOf(op.writes[1]).Get<unsigned char>(stream_);
    return outcome;
  }

  static bool IsWinograd(const Launch& launch, std::int32_t algorithm) {
    const auto names = AlgorithmNames(launch.kind, launch.pass);
    if (algorithm == 0) return launch.kind == OpKind::kConvolution;  // may be
    return std::string(names[static_cast<std::size_t>(algorithm - 1)]).starts_with("winograd");
  }

  void Upload(const Op& op, bool accumulate) {
    const auto is_read = [&](TensorId t) { return std::find(op.reads.begin(), op.reads.end(), t) != op.reads.end(); };
    for (const TensorId read : op.reads) {
      if (deviations_.count(read) == 0) BufferOf(read).Put(cpu_.Data(read).data(), stream_);
    }
    for (std::size_t k = 0; k < op.writes.size(); ++k) {
      if (is_read(op.writes[k])) continue;
      DeviceBuffer& buffer = BufferOf(op.writes[k]);
      if (accumulate && k == 0) {
        buffer.Put(cpu_.Data(op.writes[k]).data(), stream_);
      } else {
        calls_.Fill(buffer.data(), 0xff, buffer.bytes(), stream_);
      }
    }
    if (SavesDeviation(op) && op.writes.size() == 3) deviations_.insert(op.writes[2]);
  }

  // The running statistics after it, if it has any.
  Values RunOnDevice(const Op& op, const OpCall& call) {
    const std::unique_ptr<CudaKernel> kernel = calls_.Prepare(call);
    const DeviceBuffer workspace(calls_, std::max<Bytes>(kernel->workspace(), 1));
    std::vector<void*> reads, writes;
    for (const TensorId t : op.reads) reads.push_back(BufferOf(t).data());
    for (const TensorId t : op.writes) writes.push_back(BufferOf(t).data());
    CudaArguments arguments{.reads = reads,
                            .writes = writes,
                            .workspace = kernel->workspace() > 0 ? workspace.data() : nullptr,
                            .random_stream = RandomStream(1, cpu_.iteration, op.layer),
                            .labels = labels_->data(),
                            .learning_rate = cpu_.learning_rate};
    std::unique_ptr<DeviceBuffer> running;
    if (SavesDeviation(op)) {
      Values before = cpu_.running_statistics()[static_cast<std::size_t>(op.layer)];
      before.resize(2 * static_cast<std::size_t>(op.shape.in.c));
      running = std::make_unique<DeviceBuffer>(calls_, static_cast<Bytes>(before.size() * sizeof(float)));
      running->Put(before.data(), stream_);
      arguments.running_statistics = running->data();
    }
    kernel->Run(stream_, arguments);
    calls_.Synchronize(stream_);
    return running == nullptr ? Values{} : running->Get<float>(stream_);
  }

  void CompareWrites(const Op& op, const Outcome& outcome, double tolerance) {
    for (std::size_t k = 0; k < op.writes.size(); ++k) {
      const std::span<float> data = cpu_.Data(op.writes[k]);
      Values expected(data.begin(), data.end()), got = outcome.writes[k];
      INFO("write " << k << ", " << TensorOf(op.writes[k]).name << " of " << op.name);
      ++compared_;
      if (IsDropout(op) && k == 1) {
        const unsigned char* const mask = reinterpret_cast<const unsigned char*>(data.data());
        CHECK(std::equal(outcome.mask.begin(), outcome.mask.end(), mask));
        continue;
      }
      if (SavesDeviation(op) && k == 2) {  // the CPU saves the variance, cuDNN the inverse deviation
        for (float& value : expected) value = 1 / std::sqrt(value + 1e-5f);
      }
      if (op.kind == OpKind::kMaxPool && op.pass == Pass::kBackward) LeaveTiesOut(op, expected, got);
      CHECK(Difference(got, expected) < tolerance);
    }
  }

  void LeaveTiesOut(const Op& op, const Values& expected, Values& got) {
    const std::vector<bool> tied = TiedMaxima(op.shape, cpu_.Data(op.reads.front()));
    for (std::size_t i = 0; i < tied.size(); ++i) {
      if (tied[i] && std::isfinite(got[i])) got[i] = expected[i];
    }
  }

  CudaCalls& calls_;
  Network network_;
  StepRunner cpu_;
  double tolerance_;
  CudaStream* stream_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::unique_ptr<DeviceBuffer> labels_;
  std::set<TensorId> deviations_;  // what only the device that saved it understands
  std::vector<std::string> refused_;
  int compared_ = 0;
  bool once_ = false;
  std::set<std::string> seen_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_CUDA_KERNEL_COMPARE_H_
