#include "model/layers/bias.h"

namespace spillway {
namespace {

Op BiasOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, TensorId result, const char* label) {
  Op op = b.NewOp(OpKind::kBias, pass, std::move(reads), {result}, label);
  op.shape = {.in = b.layer().shape, .out = b.layer().shape};
  return op;
}

}  // namespace

void EmitBias(StepWriter& b) {
  if (!b.attributes().bias) return;
  b.Emit(BiasOp(b, Pass::kForward, {b.Result(), b.Parameter(1)}, b.Result(), "bias"));
}

void EmitBiasGradient(StepWriter& b) {
  if (!b.attributes().bias) return;
  b.Emit(BiasOp(b, Pass::kBackwardBias, {b.OutputGradient()}, b.ParameterGradient(1), ""));
}

}  // namespace spillway
