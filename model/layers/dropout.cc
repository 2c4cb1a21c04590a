// Dropout. Keeps a mask of one byte per element; in inference it is the identity and no op at all.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

void Forward(StepWriter& b) {
  const TensorId input = b.Input();
  if (b.options().inference) {
    b.OverwriteInput();
    return;
  }
  const bool overwrite = b.options().inplace_relu && b.MayOverwriteInput();
  const TensorId result = overwrite ? b.OverwriteInput() : b.NewResult();
  b.NewAuxiliary("mask", b.layer().shape, DataType::kBool);
  Op op = b.NewOp(OpKind::kDropout, Pass::kForward, {input}, {result, b.Auxiliary(0)});
  op.side_effect = true;
  b.Emit(std::move(op));
}

void Backward(StepWriter& b) {
  b.EmitInputGradient(0, b.NewOp(OpKind::kDropout, Pass::kBackward, {b.Auxiliary(0), b.OutputGradient()}, {}), true);
}

}  // namespace

const LayerKind kDropoutLayer{
    .name = "dropout",
    .description = "sets elements to zero at random in training",
    .keys = kRateKey,
    .infer = SameShape,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
