// Numbers to train with, all drawn from a seed: the same for the same seed, whatever the plan and the machine.
#ifndef SPILLWAY_CALIBRATE_OPS_VALUES_H_
#define SPILLWAY_CALIBRATE_OPS_VALUES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/ops/training_state.h"
#include "sim/execute/execute.h"

namespace spillway {

// Weights by He et al. (arXiv 1502.01852), uniform; scales 1, slopes 1/4; shifts, biases and momenta 0. Images are noise on a
// picture of the sample's class, so that there is something to learn. Further inputs of the network have noise and pictures
// of their own. Targets of binary cross-entropy lie in [0, 1). Tensors are told by name: however a step orders or shares
// them, they get the same numbers.
class TrainingValues : public StepValues {
 public:
  enum class Purpose : std::uint8_t {
    kResults,  // one run, whose results are looked at
    kTimes,    // many runs that are only timed: takes no results, and keeps up to `most_kept` of what it has drawn
  };
  static constexpr Bytes kMostKept = kGiB;

  // `step` must outlive this.
  TrainingValues(const TrainingStep& step, std::uint64_t seed, Purpose purpose = Purpose::kResults,
                 Bytes most_kept = kMostKept);

  void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override;
  std::uint64_t Identity(int iteration, TensorId tensor) const override;
  bool Wants(TensorId) const override { return purpose_ == Purpose::kResults; }
  void Take(TensorId tensor, std::span<const std::byte> bytes) override;

  // What was taken, by tensor; empty for tensors that do not outlive the step.
  const std::vector<std::byte>& Result(TensorId tensor) const { return results_[static_cast<std::size_t>(tensor)]; }
  // Memory that this takes beside the step: for kTimes, what it keeps of what it has drawn.
  Bytes kept_bytes() const { return kept_bytes_; }

 private:
  void Draw(int iteration, const Tensor& tensor, std::span<std::byte> bytes) const;
  void FillInput(int iteration, const Tensor& tensor, std::span<float> values) const;
  bool IsShare(const Tensor& tensor) const;  // its numbers lie in [0, 1)
  void FillParameter(const Tensor& tensor, std::span<float> values) const;

  const TrainingStep& step_;
  std::uint64_t seed_;
  Purpose purpose_;
  Bytes most_kept_, kept_bytes_ = 0;
  void DrawTokens(int iteration, const Tensor& tensor, std::span<std::byte> bytes) const;

  std::int64_t classes_ = 1;
  std::vector<std::string> shares_;                                  // targets of binary cross-entropy, by name
  std::vector<std::int64_t> vocabularies_;                           // by row of the tokens
  std::map<std::pair<int, TensorId>, std::vector<std::byte>> kept_;  // by iteration and tensor
  std::vector<std::vector<std::byte>> results_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_VALUES_H_
