// Concatenation along channels, by copying.
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape Infer(const LayerAttributes&, const std::vector<Shape>& inputs, std::string& problem) {
  Shape shape = inputs[0];
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    Shape other = inputs[k];
    shape.c += other.c;
    other.c = inputs[0].c;
    if (other == inputs[0]) continue;
    problem = "inputs to be concatenated differ in more than channels: " + ShapeText(inputs[0]) + " and " +
              ShapeText(inputs[k]) + "; crop or resize one of them";
  }
  return shape;
}

// What of the result input k is.
Box BoxOfInput(const StepWriter& b, std::size_t k) {
  std::int64_t channel = 0;
  for (std::size_t before = 0; before < k; ++before) channel += b.InputShape(before).c;
  return WithRange(WholeOf(b.layer().shape), kChannelAxis, channel, channel + b.InputShape(k).c);
}

void Forward(StepWriter& b) {
  std::vector<TensorId> reads;
  for (std::size_t k = 0; k < b.inputs(); ++k) reads.push_back(b.Input(k));
  const TensorId result = b.NewResult();
  Op op = b.NewOp(OpKind::kConcat, Pass::kForward, std::move(reads), {result});
  op.details.whole = b.layer().shape;
  op.details.slices = b.InputSlices();
  for (std::size_t k = 0; k < b.inputs(); ++k) op.details.slices[k].box = BoxOfInput(b, k);
  b.Emit(std::move(op));
}

// One op writes the slices that are the first contribution to their input's gradient; the others are added one by one.
void Backward(StepWriter& b) {
  std::vector<TensorId> first;
  std::vector<std::size_t> later;
  OpShape shape{.in = b.InputShape(), .out = b.layer().shape, .operands = 0};
  OpDetails details{.whole = b.layer().shape};
  shape.out.c = 0;
  for (std::size_t k = 0; k < b.inputs(); ++k) {
    if (!b.WantsGradient(k)) continue;
    if (b.HasGradient(k)) {
      later.push_back(k);
      continue;
    }
    if (first.empty()) shape.in = b.InputShape(k);
    details.slices.push_back({first.size(), BoxOfInput(b, k)});
    first.push_back(b.NewInputGradient(k));
    shape.out.c += b.InputShape(k).c;
    ++shape.operands;
  }
  if (!first.empty()) {
    Op op = b.NewOp(OpKind::kConcat, Pass::kBackward, {b.OutputGradient()}, std::move(first));
    op.shape = shape;
    op.details = std::move(details);
    b.Emit(std::move(op));
  }
  for (const std::size_t k : later) {
    Op op = b.NewOp(OpKind::kConcat, Pass::kBackward, {b.OutputGradient()}, {}, "backward" + std::to_string(k));
    op.shape = {.in = b.InputShape(k), .out = b.InputShape(k)};
    op.details = {.slices = {{0, BoxOfInput(b, k)}}, .whole = b.layer().shape};
    b.EmitInputGradient(k, std::move(op));
  }
}

}  // namespace

const LayerKind kConcatLayer{
    .name = "concat",
    .description = "concatenation of two or more inputs along channels",
    .min_inputs = 2,
    .max_inputs = 1024,
    .infer = Infer,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
