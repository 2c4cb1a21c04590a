// Softmax over the channels of each position, or along the last axis.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

// OpShape::window is what one sum is over.
Op SoftmaxOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kSoftmax, pass, std::move(reads), std::move(writes));
  const Shape& shape = b.layer().shape;
  op.shape.window = {b.attributes().last_axis ? 1 : shape.c, 1, b.attributes().last_axis ? shape.w : 1};
  op.details.along_width = b.attributes().last_axis;
  return op;
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(SoftmaxOp(b, Pass::kForward, {b.Input()}, {result}));
}

void Backward(StepWriter& b) {
  b.EmitInputGradient(0, SoftmaxOp(b, Pass::kBackward, {b.Result(), b.OutputGradient()}, {}));
}

}  // namespace

const LayerKind kSoftmaxLayer{
    .name = "softmax",
    .description = "softmax over channels, or along the width; the loss is softmax_loss",
    .keys = kLastAxisKey,
    .backward_reads_result = true,
    .autocast = AutocastTo::kWide,
    .infer = SameShape,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
