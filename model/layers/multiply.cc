// Element-wise product of two inputs. The second may have one number for each plane of the first, as in squeeze and
// excitation (Hu et al. 2018, arXiv 1709.01507). Backward reads both factors; the gradient of a number per plane is a sum.
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes&, const std::vector<Shape>& inputs, std::string& problem) {
  const Shape& first = inputs[0];
  const Shape per_plane{.n = first.n, .c = first.c};
  if (inputs[1] != first && inputs[1] != per_plane) {
    problem = "the second factor's shape " + ShapeText(inputs[1]) + " is neither the first one's, " + ShapeText(first) +
              ", nor one number for each plane of it, " + ShapeText(per_plane);
  }
  return first;
}

Op MultiplyOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kMultiply, pass, std::move(reads), std::move(writes));
  op.shape.operands = b.InputShape(1) == b.InputShape(0) ? 2 : 1;
  return op;
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(MultiplyOp(b, Pass::kForward, {b.Input(0), b.Input(1)}, {result}));
}

void Backward(StepWriter& b) {
  const TensorId gradient = b.OutputGradient();
  if (b.WantsGradient(0)) {
    b.EmitInputGradient(0, MultiplyOp(b, Pass::kBackwardData, {b.Input(1), gradient}, {}));
  }
  if (b.WantsGradient(1)) b.EmitInputGradient(1, MultiplyOp(b, Pass::kBackward, {b.Input(0), gradient}, {}));
}

}  // namespace

const LayerKind kMultiplyLayer{
    .name = "multiply",
    .description = "element-wise product of two inputs; the second may be one number per plane",
    .min_inputs = 2,
    .max_inputs = 2,
    .converts = true,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
