// Losses of two inputs: mean square and binary cross-entropy. The second is what the first is compared with: the network's
// input, a further one, or another layer's result, whose gradient is computed where somebody wants it. Backward reads both.
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes&, const std::vector<Shape>& inputs, std::string& problem) {
  if (inputs[1] != inputs[0]) {
    problem = "compares inputs of one shape, and these are " + ShapeText(inputs[0]) + " and " + ShapeText(inputs[1]);
  }
  return LossShape(OpKind::kPairLoss, inputs[0]);
}

Op PairOp(StepWriter& b, PairFunction function, Pass pass, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kPairLoss, pass, {b.Input(0), b.Input(1)}, std::move(writes));
  op.shape.operands = b.Input(0) == b.Input(1) ? 1 : 2;
  op.details.loss_weight = b.attributes().weight;
  op.details.loss.function = function;
  return op;
}

template <PairFunction kFunction>
void Forward(StepWriter& b) {
  const TensorId result = b.NewAuxiliaryResult();
  b.Emit(PairOp(b, kFunction, Pass::kForward, {result}));
}

template <PairFunction kFunction>
void Backward(StepWriter& b) {
  if (b.WantsGradient(0)) b.EmitInputGradient(0, PairOp(b, kFunction, Pass::kBackwardData, {}));
  if (b.WantsGradient(1)) b.EmitInputGradient(1, PairOp(b, kFunction, Pass::kBackward, {}));
}

template <PairFunction kFunction>
constexpr LayerKind PairLoss(const char* name, const char* description) {
  return {.name = name,
          .description = description,
          .min_inputs = 2,
          .max_inputs = 2,
          .keys = kWeightKey,
          .loss = true,
          .autocast = AutocastTo::kWide,
          .infer = Infer,
          .forward = Forward<kFunction>,
          .backward = Backward<kFunction>};
}

}  // namespace

const LayerKind kMseLossLayer = PairLoss<PairFunction::kMeanSquare>(
    "mse_loss", "mean square of the difference of two inputs; the second is the target");
const LayerKind kBceLossLayer = PairLoss<PairFunction::kBinaryCrossEntropy>(
    "bce_loss", "binary cross-entropy of the first input's sigmoid; the second is the target");

}  // namespace spillway
