// The effect of rounding on training, measured by training from slightly perturbed values.
//
// Ops in parts, and other algorithms, add in another order, which changes a result by some millionths of the largest
// value. How a step amplifies that depends on the network: near zero, or where two values of a window are almost equal,
// ReLU and pooling send gradients another way. So a plan's results are compared with those of in-core training from
// perturbed values. Each parameter and each element of the images changes by at most eight units in the last place
// (half a millionth to a millionth). That is less than the plan's own changes. One unit would be too little:
// convolutions by Winograd's transforms round worse than sums do.
//
// Tested by validate_rounding_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_ROUNDING_H_
#define SPILLWAY_CALIBRATE_VALIDATE_ROUNDING_H_

#include <cstdint>
#include <span>

#include "calibrate/ops/values.h"
#include "model/step/training_step.h"

namespace spillway {

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

#endif  // SPILLWAY_CALIBRATE_VALIDATE_ROUNDING_H_
