// A trained factor per channel, as ConvNeXt's blocks end with (layer scale: Touvron et al. 2021, arXiv 2103.17239).
#include <vector>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

std::vector<ParameterShape> Parameters(const LayerAttributes&, const Shape& input) {
  return {{"scale", {.n = 1, .c = input.c}}};
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(OpKind::kScale, Pass::kForward, {b.Input(), b.Parameter(0)}, {result}));
}

void Backward(StepWriter& b) {
  const TensorId gradient = b.OutputGradient();
  if (b.WantsGradient()) {
    b.EmitInputGradient(0, b.NewOp(OpKind::kScale, Pass::kBackward, {b.Parameter(0), gradient}, {}));
  }
  if (!b.Trains(0)) return;
  b.Emit(b.NewOp(OpKind::kScale, Pass::kBackwardBias, {b.Input(), gradient}, {b.ParameterGradient(0)}));
}

}  // namespace

const LayerKind kScaleLayer{
    .name = "scale",
    .description = "a trained factor per channel",
    .keys = kFrozenKey,
    .autocast = AutocastTo::kWide,
    .converts = true,
    .infer = SameShape,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
