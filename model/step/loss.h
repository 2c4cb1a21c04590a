// How a loss is computed, beyond the kind of its op.
//
// Cross-entropy: labels are a class for each sample and place; with smoothing s the label's class counts 1 - s + s / C and
// every other one s / C (torch.nn.functional.cross_entropy, label_smoothing). Dice: soft, of each sample and class apart, of
// all classes, with 1e-5 above and below (the defaults of MONAI's DiceLoss), and the mean of one minus it.
#ifndef SPILLWAY_MODEL_STEP_LOSS_H_
#define SPILLWAY_MODEL_STEP_LOSS_H_

#include <cstdint>

#include "model/step/op_kind.h"
#include "model/step/tensor.h"

namespace spillway {

// Of two tensors: the mean of (x - t)^2, or of -t log s(x) - (1 - t) log(1 - s(x)) with the sigmoid s.
enum class PairFunction : std::uint8_t { kMeanSquare, kBinaryCrossEntropy };

struct LossRule {
  PairFunction function = PairFunction::kMeanSquare;  // pair loss
  double smoothing = 0;                               // softmax loss
  bool independent = false;                           // Dice loss: sigmoid of each class; false: softmax over them
  bool operator==(const LossRule&) const = default;
};

constexpr double kDiceSmooth = 1e-5;

// The shape of the result of a loss's forward pass, from its input's: a number for each sample, or probabilities.
constexpr Shape LossShape(OpKind kind, const Shape& in) { return kind == OpKind::kPairLoss ? Shape{.n = in.n} : in; }

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_LOSS_H_
