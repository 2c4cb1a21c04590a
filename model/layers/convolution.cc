// 2-D and 3-D convolution, grouped or not.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  const std::int64_t channels = inputs[0].c;
  Shape shape = SlideWindow(a, Slides::kConvolution, inputs[0], problem);
  shape.c = a.out_channels;
  CheckGroups(a, channels, problem);
  return shape;
}

std::vector<ParameterShape> Parameters(const LayerAttributes& a, const Shape& input) {
  return WeightAndBias(a, {a.out_channels, input.c / a.groups, a.window[0], a.window[1], a.window[2]});
}

void Forward(StepWriter& b) { EmitWeighted(b, OpKind::kConvolution); }
void Backward(StepWriter& b) { EmitWeightedBackward(b, OpKind::kConvolution); }

}  // namespace

const LayerKind kConvolutionLayer{
    .name = "convolution",
    .description = "2-D or 3-D convolution, optionally grouped and with bias",
    .keys =
        kOutKey | kWindowKey | kStrideKey | kDilationKey | kPadKey | kPadAfterKey | kGroupsKey | kBiasKey | kFrozenKey,
    .required = kOutKey | kWindowKey,
    .autocast = AutocastTo::kNarrow,
    .shares_weight = true,
    .infer = Infer,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
