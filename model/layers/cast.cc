// Another type for the same numbers. Autocast inserts these layers (model/network/precision.h).
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/network/precision.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

void Forward(StepWriter& b) {
  const TensorId input = b.Input();
  const TensorId result = b.NewResult();
  b.Emit(b.NewCast(Pass::kForward, input, result, b.layer().shape));
}

void Backward(StepWriter& b) {
  Op op = b.NewCast(Pass::kBackward, b.OutputGradient(), kNoTensor, b.layer().shape);
  b.EmitInputGradient(0, std::move(op));
}

}  // namespace

const LayerKind& CastLayer() {
  static constexpr LayerKind kKind{
      .name = "cast",
      .description = "another type for the same numbers, which autocast inserts",
      .infer = SameShape,
      .forward = Forward,
      .backward = Backward,
  };
  return kKind;
}

}  // namespace spillway
