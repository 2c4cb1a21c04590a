// Max and average pooling, 2-D and 3-D.
#include <utility>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (a.global) return {.n = inputs[0].n, .c = inputs[0].c};
  return SlideWindow(a, Slides::kPooling, inputs[0], problem);
}

Op MaxPoolOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kMaxPool, pass, std::move(reads), std::move(writes));
  op.details.saved_indices = b.options().saved->pool_indices && !b.options().inference;
  return op;
}

void ForwardMax(StepWriter& b) {
  std::vector<TensorId> writes{b.NewResult()};
  if (b.options().saved->pool_indices && !b.options().inference) {
    b.NewAuxiliary("indices", b.layer().shape, DataType::kInt64);
    writes.push_back(b.Auxiliary(0));
  }
  b.Emit(MaxPoolOp(b, Pass::kForward, {b.Input()}, std::move(writes)));
}

// Reads where the maxima were, or finds them again by their values.
void BackwardMax(StepWriter& b) {
  const TensorId where = b.options().saved->pool_indices ? b.Auxiliary(0) : b.Result();
  b.EmitInputGradient(0, MaxPoolOp(b, Pass::kBackward, {b.Input(), where, b.OutputGradient()}, {}));
}

void ForwardAverage(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(OpKind::kAveragePool, Pass::kForward, {b.Input()}, {result}));
}

void BackwardAverage(StepWriter& b) {
  const SavedTensors& saved = *b.options().saved;
  std::vector<TensorId> reads{b.OutputGradient()};
  if (b.attributes().global ? saved.globally_pooled_input : saved.pooled_input) reads.push_back(b.Input());
  b.EmitInputGradient(0, b.NewOp(OpKind::kAveragePool, Pass::kBackward, std::move(reads), {}));
}

}  // namespace

const LayerKind kMaxPoolLayer{
    .name = "max_pool",
    .description = "max pooling; backward needs input and output",
    .keys = kWindowKey | kStrideKey | kPadKey | kPadAfterKey | kCeilKey,
    .required = kWindowKey | kStrideKey,
    .backward_reads_result = true,
    .infer = Infer,
    .forward = ForwardMax,
    .backward = BackwardMax,
};

const LayerKind kAveragePoolLayer{
    .name = "average_pool",
    .description = "average pooling, over a window or the whole image",
    .keys = kWindowKey | kStrideKey | kPadKey | kPadAfterKey | kCeilKey | kGlobalKey,
    .infer = Infer,
    .forward = ForwardAverage,
    .backward = BackwardAverage,
};

}  // namespace spillway
