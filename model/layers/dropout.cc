// Dropout, of elements or of whole samples (stochastic depth: Huang et al. 2016, arXiv 1603.09382). Keeps a mask of one
// number per element, or per sample; in inference it is the identity and no op at all.
#include <utility>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Op DropoutOp(StepWriter& b, Pass pass, bool per_sample, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kDropout, pass, std::move(reads), std::move(writes));
  op.details.per_sample = per_sample;
  op.details.mask_type = b.options().saved->MaskType(op.type);
  return op;
}

// Whole samples are dropped by a product with a vector, which frameworks do not compute in place.
template <bool kPerSample>
void Forward(StepWriter& b) {
  const TensorId input = b.Input();
  if (b.options().inference) {
    b.OverwriteInput();
    return;
  }
  const bool overwrite = !kPerSample && b.options().inplace_relu && b.MayOverwriteInput();
  const TensorId result = overwrite ? b.OverwriteInput() : b.NewResult();
  const Shape mask = kPerSample ? Shape{.n = b.layer().shape.n} : b.layer().shape;
  Op op = DropoutOp(b, Pass::kForward, kPerSample, {input}, {result});
  b.NewAuxiliary("mask", mask, op.details.mask_type);
  op.writes.push_back(b.Auxiliary(0));
  op.side_effect = true;
  b.Emit(std::move(op));
}

template <bool kPerSample>
void Backward(StepWriter& b) {
  b.EmitInputGradient(0, DropoutOp(b, Pass::kBackward, kPerSample, {b.Auxiliary(0), b.OutputGradient()}, {}), true);
}

}  // namespace

const LayerKind kDropoutLayer{
    .name = "dropout",
    .description = "sets elements to zero at random in training",
    .keys = kRateKey,
    .infer = SameShape,
    .forward = Forward<false>,
    .backward = Backward<false>,
};

const LayerKind kDepthDropLayer{
    .name = "depth_drop",
    .description = "sets whole samples to zero at random in training (stochastic depth)",
    .keys = kRateKey,
    .infer = SameShape,
    .forward = Forward<true>,
    .backward = Backward<true>,
};

}  // namespace spillway
