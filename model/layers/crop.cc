// The centre of the image, or its first places. A copy; its backward puts zeros around the gradient. Saves nothing.
#include <utility>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  const Shape shape = GivenImage(a, "crop", inputs, problem);
  const bool inside = shape.d <= inputs[0].d && shape.h <= inputs[0].h && shape.w <= inputs[0].w;
  if (problem.empty() && !inside) problem = "cannot crop " + ShapeText(inputs[0]) + " to " + ShapeText(shape);
  return shape;
}

Op SliceOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kSlice, pass, std::move(reads), std::move(writes));
  op.shape = {.in = b.InputShape(), .out = b.layer().shape};
  op.details.whole = b.InputShape();
  const Box box = b.attributes().at_start ? WholeOf(b.layer().shape) : CentreOf(b.InputShape(), b.layer().shape);
  op.details.slices = {{0, box}};
  return op;
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(SliceOp(b, Pass::kForward, {b.Input()}, {result}));
}

void Backward(StepWriter& b) { b.EmitInputGradient(0, SliceOp(b, Pass::kBackward, {b.OutputGradient()}, {})); }

}  // namespace

const LayerKind kCropLayer{
    .name = "crop",
    .description = "part of the image: `image`, or the size of a second layer",
    .max_inputs = 2,
    .data_inputs = 1,
    .keys = kImageKey | kAtKey,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
