// Softmax and cross-entropy in one. The labels are left out of the step, unless the framework saves them for backward
// (SavedTensors::labels). With smoothed labels PyTorch saves besides which of them are ignored: none.
//
// PyTorch computes log-softmax and the likelihood in a function each, so that backward makes the gradient of the
// log-probabilities first (aten: nll_loss_backward, then _log_softmax_backward_data; dispatch of 1.13 and 2.15 on a processor,
// in fp32, bf16 and autocast). It is as large as these, has their type and is gone behind the op: OpShape::operands counts it.
#include <utility>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

void Forward(StepWriter& b) {
  std::vector<TensorId> writes{b.NewAuxiliaryResult()};
  if (b.options().saved->labels && !b.options().inference) {
    Shape places = b.layer().shape;
    places.c = 1;
    b.NewAuxiliary("labels", places, DataType::kInt64);
    writes.push_back(b.Auxiliary(0));
    if (b.attributes().smoothing > 0) {
      b.NewAuxiliary("ignored", places, DataType::kBool);
      writes.push_back(b.Auxiliary(1));
    }
  }
  Op op = b.NewOp(OpKind::kSoftmaxLoss, Pass::kForward, {b.Input()}, std::move(writes));
  op.details.loss_weight = b.attributes().weight;
  op.details.loss.smoothing = b.attributes().smoothing;
  b.Emit(std::move(op));
}

void Backward(StepWriter& b) {
  std::vector<TensorId> reads{b.Result()};
  if (b.options().saved->labels) reads.push_back(b.Auxiliary(0));
  if (b.options().saved->labels && b.attributes().smoothing > 0) reads.push_back(b.Auxiliary(1));
  Op op = b.NewOp(OpKind::kSoftmaxLoss, Pass::kBackward, std::move(reads), {});
  op.details.loss_weight = b.attributes().weight;
  op.details.loss.smoothing = b.attributes().smoothing;
  if (b.options().saved->labels) {
    op.writes = {b.NewInnerGradient("log_probabilities", b.layer().shape, b.Type())};
    op.shape.operands = 2;
  }
  b.EmitInputGradient(0, std::move(op));
}

}  // namespace

const LayerKind kSoftmaxLossLayer{
    .name = "softmax_loss",
    .description = "softmax over channels with cross-entropy, at each place; its result is the probabilities",
    .keys = kWeightKey | kSmoothingKey,
    .backward_reads_result = true,
    .loss = true,
    .autocast = AutocastTo::kWide,
    .infer = SameShape,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
