// Batch normalisation over batch and space, with scale and shift. Running statistics are no tensors of the step: they
// are two vectors per channel that live as long as the parameters; forward changes them, hence side_effect.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

std::vector<ParameterShape> Parameters(const LayerAttributes&, const Shape& input) {
  return {{"scale", {.n = 1, .c = input.c}}, {"shift", {.n = 1, .c = input.c}}};
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  Op op = b.NewOp(OpKind::kBatchNorm, Pass::kForward, {b.Input(), b.Parameter(0), b.Parameter(1)}, {result});
  if (b.options().inference) {
    op.shape.operands = 0;
  } else {
    const Shape vector{.n = 1, .c = b.layer().shape.c};
    b.NewAuxiliary("mean", vector, DataType::kFp32);
    b.NewAuxiliary("inverse_deviation", vector, DataType::kFp32);
    op.writes = {result, b.Auxiliary(0), b.Auxiliary(1)};
    op.side_effect = true;
  }
  b.Emit(std::move(op));
}

void Backward(StepWriter& b) {
  Op op = b.NewOp(OpKind::kBatchNorm, Pass::kBackward,
                  {b.Input(), b.OutputGradient(), b.Parameter(0), b.Auxiliary(0), b.Auxiliary(1)},
                  {b.ParameterGradient(0), b.ParameterGradient(1)});
  op.details.input_gradient = b.WantsGradient();
  if (b.WantsGradient()) {
    b.EmitInputGradient(0, std::move(op));
  } else {
    b.Emit(std::move(op));
  }
}

}  // namespace

const LayerKind kBatchNormLayer{
    .name = "batch_norm",
    .description = "batch normalisation per channel, with scale and shift",
    .keys = kFrozenKey,
    .infer = SameShape,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
