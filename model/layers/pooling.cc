// Max and average pooling, 2-D and 3-D.
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (a.global) return {.n = inputs[0].n, .c = inputs[0].c};
  return SlideWindow(a, Slides::kPooling, inputs[0], problem);
}

void ForwardMax(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(OpKind::kMaxPool, Pass::kForward, {b.Input()}, {result}));
}

void BackwardMax(StepWriter& b) {
  b.EmitInputGradient(0, b.NewOp(OpKind::kMaxPool, Pass::kBackward, {b.Input(), b.Result(), b.OutputGradient()}, {}));
}

void ForwardAverage(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(OpKind::kAveragePool, Pass::kForward, {b.Input()}, {result}));
}

void BackwardAverage(StepWriter& b) {
  b.EmitInputGradient(0, b.NewOp(OpKind::kAveragePool, Pass::kBackward, {b.OutputGradient()}, {}));
}

}  // namespace

const LayerKind kMaxPoolLayer{
    .name = "max_pool",
    .description = "max pooling; backward needs input and output",
    .keys = kWindowKey | kStrideKey | kPadKey | kCeilKey,
    .required = kWindowKey | kStrideKey,
    .backward_reads_result = true,
    .infer = Infer,
    .forward = ForwardMax,
    .backward = BackwardMax,
};

const LayerKind kAveragePoolLayer{
    .name = "average_pool",
    .description = "average pooling, over a window or the whole image",
    .keys = kWindowKey | kStrideKey | kPadKey | kCeilKey | kGlobalKey,
    .infer = Infer,
    .forward = ForwardAverage,
    .backward = BackwardAverage,
};

}  // namespace spillway
