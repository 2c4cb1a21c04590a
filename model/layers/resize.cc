// Another size of the image, by the nearest place or linearly between neighbours. Saves nothing.
//
//   nearest   place i of `out` is place floor(i * in / out)
//   linear    at (i + 1/2) * in / out - 1/2, within the image, between the two places beside it, in each axis
//
// These are PyTorch's rules ("nearest", and "linear" to "trilinear" with align_corners off).
#include <utility>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  return GivenImage(a, "resize", inputs, problem);
}

Op ResizeOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kResize, pass, std::move(reads), std::move(writes));
  op.shape = {.in = b.InputShape(), .out = b.layer().shape};
  op.details.linear = b.attributes().linear;
  return op;
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(ResizeOp(b, Pass::kForward, {b.Input()}, {result}));
}

void Backward(StepWriter& b) { b.EmitInputGradient(0, ResizeOp(b, Pass::kBackward, {b.OutputGradient()}, {})); }

}  // namespace

const LayerKind kResizeLayer{
    .name = "resize",
    .description = "the image in another size: `scale`, `image`, or the size of a second layer",
    .max_inputs = 2,
    .data_inputs = 1,
    .keys = kScaleKey | kImageKey | kMethodKey,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
