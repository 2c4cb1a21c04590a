// Soft Dice loss of classes (Milletari et al. 2016, arXiv 1606.04797), as segmentation networks use it beside
// cross-entropy: two losses of one layer, each with its weight. Backward reads the probabilities; the labels are left out of
// the step. Frameworks save the labels as a tensor of ones besides, of the probabilities' shape (SavedTensors::labels).
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (!a.independent && inputs[0].c == 1) {
    problem = "softmax of one channel is 1 everywhere: expected two channels or more, or `probabilities: sigmoid`";
  }
  return inputs[0];
}

Op DiceOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kDiceLoss, pass, std::move(reads), std::move(writes));
  op.details.loss_weight = b.attributes().weight;
  op.details.loss.independent = b.attributes().independent;
  return op;
}

void Forward(StepWriter& b) {
  std::vector<TensorId> writes{b.NewAuxiliaryResult()};
  if (b.options().saved->labels && !b.options().inference) {
    b.NewAuxiliary("target", b.layer().shape, DataType::kFp32);
    writes.push_back(b.Auxiliary(0));
  }
  b.Emit(DiceOp(b, Pass::kForward, {b.Input()}, std::move(writes)));
}

void Backward(StepWriter& b) {
  std::vector<TensorId> reads{b.Result()};
  if (b.options().saved->labels) reads.push_back(b.Auxiliary(0));
  b.EmitInputGradient(0, DiceOp(b, Pass::kBackward, std::move(reads), {}));
}

}  // namespace

const LayerKind kDiceLossLayer{
    .name = "dice_loss",
    .description = "one minus the soft Dice of each sample and class; its result is the probabilities",
    .keys = kWeightKey | kProbabilitiesKey,
    .backward_reads_result = true,
    .loss = true,
    .autocast = AutocastTo::kWide,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
