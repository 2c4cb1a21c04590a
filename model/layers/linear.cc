// Fully connected layer: over everything that a sample has, over the channels of each position, or over those of the first
// position alone. Its weight may be another layer's (tied).
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (a.pointwise && a.first) problem = "'pointwise' computes every position, 'first' one: give either";
  Shape shape{.n = inputs[0].n, .c = a.out_channels};
  if (a.pointwise) shape.d = inputs[0].d, shape.h = inputs[0].h, shape.w = inputs[0].w;
  return shape;
}

std::vector<ParameterShape> Parameters(const LayerAttributes& a, const Shape& input) {
  const bool positions = a.pointwise || a.first;
  return WeightAndBias(a, {.n = a.out_channels, .c = input.c * (positions ? 1 : input.Spatial())});
}

void Forward(StepWriter& b) { EmitWeighted(b, OpKind::kLinear); }
void Backward(StepWriter& b) { EmitWeightedBackward(b, OpKind::kLinear); }

}  // namespace

const LayerKind kLinearLayer{
    .name = "linear",
    .description = "fully connected layer, optionally with bias",
    .keys = kOutKey | kBiasKey | kPointwiseKey | kFirstKey | kTiedKey | kFrozenKey,
    .required = kOutKey,
    .autocast = AutocastTo::kNarrow,
    .shares_weight = true,
    .infer = Infer,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
