// Rectifier. Backward needs the sign of the result only, so that it may stand in its input's place.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

void Forward(StepWriter& b) {
  const TensorId input = b.Input();
  const bool overwrite = b.options().inplace_relu && b.MayOverwriteInput();
  const TensorId result = overwrite ? b.OverwriteInput() : b.NewResult();
  b.Emit(b.NewOp(OpKind::kRelu, Pass::kForward, {input}, {result}));
}

void Backward(StepWriter& b) {
  b.EmitInputGradient(0, b.NewOp(OpKind::kRelu, Pass::kBackward, {b.Result(), b.OutputGradient()}, {}), true);
}

}  // namespace

const LayerKind kReluLayer{
    .name = "relu",
    .description = "rectified linear unit",
    .backward_reads_result = true,
    .infer = SameShape,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
