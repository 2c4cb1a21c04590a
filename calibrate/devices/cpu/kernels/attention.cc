// Attention in one op. Keeps the logarithm of each row's sum, by which backward makes the probabilities again:
//
//   s = q^T k / sqrt(size)    p = exp(s - l), l = log(sum exp(s))    y = v p^T        each dropped p has a factor m
//   dv = dy (p m)    dp = m (dy^T v)    ds = p (dp - dy . y) / sqrt(size)    dq = k ds^T    dk = q ds
//
// Whether a probability is dropped is a hash of its place, the same in both passes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/devices/cpu/kernels/head_buffers.h"
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/matrices.h"
#include "model/util/hash.h"

namespace spillway::cpu {
namespace {

class Attention : public CpuKernel {
 public:
  explicit Attention(const OpCall& call)
      : at_{call.details.heads},
        samples_(call.launch.shape.out.n),
        forward_(call.launch.pass == Pass::kForward),
        causal_(IsCausal(call.launch.shape.operands)),
        rate_(DrawsMask(call.launch.shape.operands) ? call.details.dropout_rate : 0),
        scale_(1 / std::sqrt(static_cast<float>(at_.split.size))) {
    for (const OpSlice& slice : call.details.slices) inputs_.push_back(slice.operand);
    inputs_.resize(3, inputs_.empty() ? 0 : inputs_[0]);
    distinct_ = *std::max_element(inputs_.begin(), inputs_.end()) + 1;
    workspace_ = (forward_ ? 1 : 2) * split().queries * split().keys * static_cast<Bytes>(sizeof(float));
  }

  void Run(const CpuArguments& a) const override {
    for (std::int64_t n = 0; n < samples_; ++n) {
      for (std::int64_t head = 0; head < split().heads; ++head) forward_ ? Forward(a, n, head) : Backward(a, n, head);
    }
  }

 private:
  const HeadSplit& split() const { return at_.split; }
  Matrix Query(const CpuArguments& a, std::int64_t n, std::int64_t head) const {
    return {Read(a, inputs_[0]) + at_.Query(n, head), split().size, split().queries};
  }
  Matrix Key(const CpuArguments& a, std::int64_t n, std::int64_t head) const {
    return {Read(a, inputs_[1]) + at_.Key(n, head), split().size, split().keys};
  }
  Matrix Value(const CpuArguments& a, std::int64_t n, std::int64_t head) const {
    return {Read(a, inputs_[2]) + at_.Value(n, head), split().size, split().keys};
  }
  std::int64_t Seen(std::int64_t query) const { return causal_ ? query + 1 : split().keys; }

  // 0 where it is dropped: the numbers that dropout draws where attention is written out (dropout.cc).
  float Factor(const CpuArguments& a, std::int64_t place) const {
    if (rate_ <= 0) return 1;
    const std::uint64_t hash = SplitMix(a.random_stream + kGolden * static_cast<std::uint64_t>(place + 1));
    if ((hash >> 32) < static_cast<std::uint64_t>(rate_ * 4294967296.0)) return 0;
    return static_cast<float>(1 / (1 - rate_));
  }

  // Scores to probabilities, one row; returns the logarithm of the sum.
  float Normalise(float* row, std::int64_t seen) const {
    float most = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < seen; ++k) most = std::max(most, row[k]);
    double sum = 0;
    for (std::int64_t k = 0; k < seen; ++k) sum += std::exp(static_cast<double>(row[k]) - most);
    const float log_sum = most + static_cast<float>(std::log(sum));
    for (std::int64_t k = 0; k < split().keys; ++k) row[k] = k < seen ? std::exp(row[k] - log_sum) : 0.0f;
    return log_sum;
  }

  void Forward(const CpuArguments& a, std::int64_t n, std::int64_t head) const {
    auto* const scores = static_cast<float*>(a.workspace);
    const Matrix probabilities{scores, split().queries, split().keys};
    Multiply(Query(a, n, head).T(), Key(a, n, head), scores, false, scale_);
    for (std::int64_t i = 0; i < split().queries; ++i) {
      float* const row = scores + i * split().keys;
      const float log_sum = Normalise(row, Seen(i));
      if (a.writes.size() > 1) Write(a, 1)[(n * split().heads + head) * split().queries + i] = log_sum;
      for (std::int64_t k = 0; k < split().keys; ++k) {
        row[k] *= Factor(a, at_.Scores(n, head) + i * split().keys + k);
      }
    }
    Multiply(Value(a, n, head), probabilities.T(), Write(a, 0) + at_.Result(n, head), false);
  }

  // Where the gradients of queries, keys and values begin: three results, or the parts of one.
  float* Gradient(const CpuArguments& a, std::size_t k) const { return Write(a, a.writes.size() == 1 ? 0 : k); }

  void Backward(const CpuArguments& a, std::int64_t n, std::int64_t head) const {
    const std::int64_t pairs = split().queries * split().keys;
    auto *const kept = static_cast<float*>(a.workspace), *const change = kept + pairs;
    const float* const y = Read(a, distinct_) + at_.Result(n, head);
    const float* const dy = Read(a, distinct_ + 2) + at_.Result(n, head);
    const Matrix gradient{dy, split().size, split().queries}, dropped{kept, split().queries, split().keys},
        scores{change, split().queries, split().keys};
    Multiply(Query(a, n, head).T(), Key(a, n, head), kept, false, scale_);
    Multiply(gradient.T(), Value(a, n, head), change, false);
    for (std::int64_t i = 0; i < split().queries; ++i) BackwardRow(a, n, head, i, y, dy, kept, change);
    const bool shared = !at_.BeginsKv(head);
    Multiply(gradient, dropped, Gradient(a, 2) + at_.Value(n, head), shared);
    Multiply(Key(a, n, head), scores.T(), Gradient(a, 0) + at_.Query(n, head), false);
    Multiply(Query(a, n, head), scores, Gradient(a, 1) + at_.Key(n, head), shared);
  }

  // `kept`: scores, which become dropped probabilities. `change`: their gradient, which becomes that of the scores.
  void BackwardRow(const CpuArguments& a, std::int64_t n, std::int64_t head, std::int64_t i, const float* y,
                   const float* dy, float* kept, float* change) const {
    const float log_sum = Read(a, distinct_ + 1)[(n * split().heads + head) * split().queries + i];
    double mean = 0;
    for (std::int64_t c = 0; c < split().size; ++c) {
      mean += static_cast<double>(y[c * split().queries + i]) * dy[c * split().queries + i];
    }
    for (std::int64_t k = 0; k < split().keys; ++k) {
      const std::int64_t at = i * split().keys + k;
      const float p = k < Seen(i) ? std::exp(kept[at] - log_sum) : 0.0f;
      const float factor = Factor(a, at_.Scores(n, head) + at);
      kept[at] = p * factor;
      change[at] = p * (change[at] * factor - static_cast<float>(mean)) * scale_;
    }
  }

  HeadBuffers at_;
  std::int64_t samples_;
  bool forward_, causal_;
  double rate_;
  float scale_;
  std::vector<std::size_t> inputs_;  // which of the reads queries, keys and values are
  std::size_t distinct_ = 1;         // reads that they take
};

}  // namespace

// Forward writes {result, logarithms of the sums}, in inference the result alone; backward reads what forward did, then
// {result, logarithms, gradient}, and writes the gradients of what forward read.
KernelPtr MakeAttention(const OpCall& call) { return std::make_unique<Attention>(call); }

}  // namespace spillway::cpu
