// Softmax and cross-entropy in one. The labels (4 bytes a sample) are left out of the step.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

void Forward(StepWriter& b) {
  const TensorId result = b.NewAuxiliaryResult();
  b.Emit(b.NewOp(OpKind::kSoftmaxLoss, Pass::kForward, {b.Input()}, {result}));
}

void Backward(StepWriter& b) {
  b.EmitInputGradient(0, b.NewOp(OpKind::kSoftmaxLoss, Pass::kBackward, {b.Result()}, {}));
}

}  // namespace

const LayerKind kSoftmaxLossLayer{
    .name = "softmax_loss",
    .description = "softmax with cross-entropy; its result is the probabilities",
    .backward_reads_result = true,
    .loss = true,
    .infer = SameShape,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
