// Sum of equally shaped inputs: the join of a residual block. Its backward is no op: the gradient is shared. The second of
// two may have one number for each plane of the first, as a time embedding has (Ho et al. 2020, arXiv 2006.11239); its
// gradient is a sum over the plane.
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

bool IsPerPlane(const Shape& first, const Shape& second) {
  return second != first && second == Shape{.n = first.n, .c = first.c};
}

bool PerPlane(const StepWriter& b) { return b.inputs() == 2 && IsPerPlane(b.InputShape(0), b.InputShape(1)); }

Shape Infer(const LayerAttributes&, const std::vector<Shape>& inputs, std::string& problem) {
  if (inputs.size() == 2 && IsPerPlane(inputs[0], inputs[1])) return inputs[0];
  for (const Shape& shape : inputs) {
    if (shape == inputs[0]) continue;
    problem = "inputs to be added differ in shape: " + ShapeText(inputs[0]) + " and " + ShapeText(shape);
  }
  return inputs[0];
}

void Forward(StepWriter& b) {
  std::vector<TensorId> reads;
  for (std::size_t k = 0; k < b.inputs(); ++k) reads.push_back(b.Input(k));
  const bool overwrite = b.options().inplace_add && b.MayOverwriteInput();
  const TensorId result = overwrite ? b.OverwriteInput() : b.NewResult();
  Op op = b.NewOp(PerPlane(b) ? OpKind::kPlaneAdd : OpKind::kAdd, Pass::kForward, std::move(reads), {result});
  op.details.slices = b.InputSlices();
  b.Emit(std::move(op));
}

void Backward(StepWriter& b) {
  if (PerPlane(b)) {
    if (b.WantsGradient(1)) {
      b.EmitInputGradient(1, b.NewOp(OpKind::kPlaneAdd, Pass::kBackward, {b.OutputGradient()}, {}));
    }
    if (b.WantsGradient(0)) b.ShareGradient(0);
    return;
  }
  for (std::size_t k = 0; k < b.inputs(); ++k) {
    if (b.WantsGradient(k)) b.ShareGradient(k);
  }
}

}  // namespace

const LayerKind kAddLayer{
    .name = "add",
    .description = "element-wise sum of two or more inputs; the second of two may be one number per plane",
    .min_inputs = 2,
    .max_inputs = 64,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
