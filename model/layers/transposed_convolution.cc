// 2-D and 3-D transposed convolution: each place of the input adds its window to the result. It is the gradient of a
// convolution's input, which is how libraries compute it (AsConvolution, model/step/launch.h).
#include <algorithm>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

struct Axis {
  const char* name;
  std::size_t k;
};

std::int64_t Places(const LayerAttributes& a, const Axis& axis, std::int64_t size, std::string& problem) {
  const std::size_t k = axis.k;
  if (a.output_pad[k] >= a.stride[k]) {
    problem = "output_pad " + std::to_string(a.output_pad[k]) + " must be less than the " + axis.name + "'s stride " +
              std::to_string(a.stride[k]);
    return 1;
  }
  const std::int64_t places = (size - 1) * a.stride[k] + a.window[k] - 2 * a.pad[k] + a.output_pad[k];
  if (places >= 1) return places;
  problem = "padding " + std::to_string(a.pad[k]) + " cuts off all of the result's " + axis.name + " " +
            std::to_string(places + 2 * a.pad[k]);
  return 1;
}

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  Shape shape = inputs[0];
  shape.c = a.out_channels;
  shape.d = Places(a, {"depth", 0}, inputs[0].d, problem);
  shape.h = Places(a, {"height", 1}, inputs[0].h, problem);
  shape.w = Places(a, {"width", 2}, inputs[0].w, problem);
  CheckGroups(a, inputs[0].c, problem);
  return shape;
}

std::vector<ParameterShape> Parameters(const LayerAttributes& a, const Shape& input) {
  return WeightAndBias(a, {input.c, a.out_channels / a.groups, a.window[0], a.window[1], a.window[2]});
}

void Forward(StepWriter& b) { EmitWeighted(b, OpKind::kTransposedConvolution); }
void Backward(StepWriter& b) { EmitWeightedBackward(b, OpKind::kTransposedConvolution); }

}  // namespace

const LayerKind kTransposedConvolutionLayer{
    .name = "transposed_convolution",
    .description = "2-D or 3-D transposed convolution (up-convolution), optionally grouped and with bias",
    .keys = kOutKey | kWindowKey | kStrideKey | kPadKey | kOutputPadKey | kGroupsKey | kBiasKey | kFrozenKey,
    .required = kOutKey | kWindowKey,
    .autocast = AutocastTo::kNarrow,
    .shares_weight = true,
    .infer = Infer,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
