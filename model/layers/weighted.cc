#include "model/layers/weighted.h"

#include "model/layers/bias.h"

namespace spillway {

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
