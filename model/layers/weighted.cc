// What convolution and linear layers have in common.
#include "model/layers/shared.h"
#include "model/network/network.h"

namespace spillway {

namespace {

// The bias: ops of their own, in place on the layer's result; nothing for a layer without. It is its parameter 1.
Op BiasOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, TensorId result, const char* label) {
  Op op = b.NewOp(OpKind::kBias, pass, std::move(reads), {result}, label);
  op.shape = {.in = b.layer().shape, .out = b.layer().shape};
  return op;
}

void EmitBias(StepWriter& b) {
  if (!b.attributes().bias) return;
  b.Emit(BiasOp(b, Pass::kForward, {b.Result(), b.Parameter(1)}, b.Result(), "bias"));
}

void EmitBiasGradient(StepWriter& b) {
  if (!b.attributes().bias) return;
  b.Emit(BiasOp(b, Pass::kBackwardBias, {b.OutputGradient()}, b.ParameterGradient(1), ""));
}

}  // namespace

std::vector<ParameterShape> WeightAndBias(const LayerAttributes& attributes, const Shape& weight) {
  std::vector<ParameterShape> parameters{{"weight", weight}};
  if (attributes.bias) parameters.push_back({"bias", {.n = 1, .c = attributes.out_channels}});
  return parameters;
}

void EmitWeighted(StepWriter& b, OpKind kind) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(kind, Pass::kForward, {b.Input(), b.Parameter(0)}, {result}));
  EmitBias(b);
}

void EmitWeightedBackward(StepWriter& b, OpKind kind) {
  const TensorId gradient = b.OutputGradient();
  const auto filter = [&] {
    b.Emit(b.NewOp(kind, Pass::kBackwardFilter, {b.Input(), gradient}, {b.ParameterGradient(0)}));
  };
  const auto data = [&] {
    if (b.WantsGradient()) b.EmitInputGradient(0, b.NewOp(kind, Pass::kBackwardData, {b.Parameter(0), gradient}, {}));
  };
  if (b.options().data_first) {
    data();
    filter();
    EmitBiasGradient(b);
  } else {
    EmitBiasGradient(b);
    filter();
    data();
  }
}

}  // namespace spillway
