// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3).
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Op LrnOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kLrn, pass, std::move(reads), std::move(writes));
  op.shape.window = {b.attributes().size, 1, 1};  // the channels it sums over
  return op;
}

void Forward(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(LrnOp(b, Pass::kForward, {b.Input()}, {result}));
}

void Backward(StepWriter& b) {
  b.EmitInputGradient(0, LrnOp(b, Pass::kBackward, {b.Input(), b.Result(), b.OutputGradient()}, {}));
}

}  // namespace

const LayerKind kLrnLayer{
    .name = "lrn",
    .description = "local response normalisation across channels",
    .keys = kSizeKey,
    .backward_reads_result = true,
    .infer = SameShape,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
