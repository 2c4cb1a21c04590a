// Sum of equally shaped inputs: the join of a residual block. Its backward is no op: the gradient is shared.
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes&, const std::vector<Shape>& inputs, std::string& problem) {
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
  Op op = b.NewOp(OpKind::kAdd, Pass::kForward, std::move(reads), {result});
  op.details.slices = b.InputSlices();
  b.Emit(std::move(op));
}

void Backward(StepWriter& b) {
  for (std::size_t k = 0; k < b.inputs(); ++k) {
    if (b.WantsGradient(k)) b.ShareGradient(k);
  }
}

}  // namespace

const LayerKind kAddLayer{
    .name = "add",
    .description = "element-wise sum of two or more inputs",
    .min_inputs = 2,
    .max_inputs = 64,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
