// The effect of rounding on training, measured by training from slightly perturbed values.
//
// Tested by validate_numerics_test and validate_rounding_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_NUMERICS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_NUMERICS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/ops/values.h"
#include "calibrate/validate/results.h"
#include "model/step/training_step.h"

namespace spillway {

// What training has changed, as bytes, and the losses on the way.
struct TrainingResults {
  std::map<std::string, std::vector<std::byte>> tensors;  // by name, so that a step in batch parts has the same ones
  std::vector<double> losses;                             // by iteration; empty where the device tells none
};
// Parameters and optimizer state.
TrainingResults ResultsOf(const TrainingStep& step, const TrainingValues& values, std::vector<double> losses);

// Of all tensors that both have, in order of names, and of the losses. kSkipped where they have none in common.
// The difference of a tensor is the largest one of its elements, over the largest magnitude in `expected`; infinite where
// only one of two elements is a number. fp32.
Numerics CompareResults(const TrainingResults& actual, const TrainingResults& expected);

// ---- How far rounding carries: what comes of a training run when the numbers it begins with are rounded once more.
//
// Ops in parts, and other algorithms, add up in another order, which moves a result by some millionths of the largest. What
// a step makes of that depends on the network: where a value is near zero, or two of a window are alike, ReLU and pooling
// send gradients another way. So a plan's numbers are held against how far in-core training itself comes off when each
// parameter and each element of the images is off by at most eight units of its last place, half a millionth to one, which is
// less than what the plan does. One unit would be far less: convolutions by Winograd's transforms round worse than sums do.

constexpr int kMostPlaces = 8;

// Training values whose parameters and images are changed by up to kMostPlaces units in the last place, up or down.
// `draw` is the seed. Zeros stay zero.
class RoundedValues : public StepValues {
 public:
  // `values` and `step` must outlive this.
  RoundedValues(TrainingValues& values, const TrainingStep& step, std::uint64_t draw)
      : values_(values), step_(step), draw_(draw) {}

  void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override;
  std::uint64_t Identity(int iteration, TensorId tensor) const override;
  bool Wants(TensorId tensor) const override { return values_.Wants(tensor); }
  void Take(TensorId tensor, std::span<const std::byte> bytes) override { values_.Take(tensor, bytes); }

 private:
  TrainingValues& values_;
  const TrainingStep& step_;
  std::uint64_t draw_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_NUMERICS_H_
