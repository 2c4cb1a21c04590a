// Fully connected layer over everything a sample has.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string&) {
  return {.n = inputs[0].n, .c = a.out_channels};
}

std::vector<ParameterShape> Parameters(const LayerAttributes& a, const Shape& input) {
  return WeightAndBias(a, {.n = a.out_channels, .c = input.c * input.Spatial()});
}

void Forward(StepWriter& b) { EmitWeighted(b, OpKind::kLinear); }
void Backward(StepWriter& b) { EmitWeightedBackward(b, OpKind::kLinear); }

}  // namespace

const LayerKind kLinearLayer{
    .name = "linear",
    .description = "fully connected layer, optionally with bias",
    .keys = kOutKey | kBiasKey,
    .required = kOutKey,
    .infer = Infer,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
