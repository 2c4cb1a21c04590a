// ReLU with a trained slope per channel below zero (He et al. 2015, arXiv 1502.01852).
#include <vector>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

std::vector<ParameterShape> Parameters(const LayerAttributes&, const Shape& input) {
  return {{"slope", {.n = 1, .c = input.c}}};
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(OpKind::kPrelu, Pass::kForward, {b.Input(), b.Parameter(0)}, {result}));
}

void Backward(StepWriter& b) {
  const TensorId gradient = b.OutputGradient();
  if (b.WantsGradient()) {
    b.EmitInputGradient(0, b.NewOp(OpKind::kPrelu, Pass::kBackward, {b.Input(), b.Parameter(0), gradient}, {}));
  }
  if (!b.Trains(0)) return;
  b.Emit(b.NewOp(OpKind::kPrelu, Pass::kBackwardBias, {b.Input(), gradient}, {b.ParameterGradient(0)}));
}

}  // namespace

const LayerKind kPreluLayer{
    .name = "prelu",
    .description = "rectified linear unit with a trained slope per channel below zero",
    .keys = kFrozenKey,
    .autocast = AutocastTo::kNarrow,
    .infer = SameShape,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
