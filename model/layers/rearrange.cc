#include "model/layers/rearrange.h"

#include <string>
#include <utility>
#include <vector>

namespace spillway {
namespace {

Op RearrangeOp(StepWriter& b, const Rearrangement& rearrangement, Pass pass, std::vector<TensorId> reads,
               std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kRearrange, pass, std::move(reads), std::move(writes));
  op.shape = {.in = b.InputShape(), .out = b.layer().shape};
  op.details.rearrangement = rearrangement;
  return op;
}

}  // namespace

void EmitRearranged(StepWriter& b, const Rearrangement& rearrangement) {
  const TensorId result = b.NewResult();
  b.Emit(RearrangeOp(b, rearrangement, Pass::kForward, {b.Input()}, {result}));
}

void EmitRearrangedBack(StepWriter& b, const Rearrangement& rearrangement) {
  b.EmitInputGradient(0, RearrangeOp(b, rearrangement, Pass::kBackward, {b.OutputGradient()}, {}));
}

std::string ExtentsText(const std::array<std::int64_t, 3>& extents) {
  const std::string flat = std::to_string(extents[1]) + "x" + std::to_string(extents[2]);
  return extents[0] <= 1 ? flat : std::to_string(extents[0]) + "x" + flat;
}

Shape InWindows(const std::array<std::int64_t, 3>& block, const Shape& image, std::string& problem) {
  if (image.d % block[0] != 0 || image.h % block[1] != 0 || image.w % block[2] != 0) {
    problem = "windows of " + ExtentsText(block) + " do not divide the image of " + ShapeText(image) +
              "; a pad layer in front makes it larger";
    return image;
  }
  const std::array<std::int64_t, 3> blocks = ImageBlocks(image, block);
  return {.n = image.n, .c = image.c, .h = blocks[0] * blocks[1] * blocks[2], .w = block[0] * block[1] * block[2]};
}

}  // namespace spillway
