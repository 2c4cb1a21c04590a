// What tells positions apart: learned vectors that are added, a learned token in front, and rotation (rope).
#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

Shape InferPosition(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (a.positions != 0 && a.positions < inputs[0].Spatial()) {
    problem = "vectors for " + std::to_string(a.positions) + " positions, and the input has " +
              std::to_string(inputs[0].Spatial());
  }
  return inputs[0];
}

std::vector<ParameterShape> PositionParameters(const LayerAttributes& a, const Shape& input) {
  return {{"weight", {.n = 1, .c = input.c, .w = a.positions != 0 ? a.positions : input.Spatial()}}};
}

Op PositionOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kPosition, pass, std::move(reads), std::move(writes));
  op.details.whole = PositionParameters(b.attributes(), b.InputShape())[0].shape;
  return op;
}

void ForwardPosition(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(PositionOp(b, Pass::kForward, {b.Input(), b.Parameter(0)}, {result}));
}

void BackwardPosition(StepWriter& b) {
  if (b.Trains(0)) b.Emit(PositionOp(b, Pass::kBackwardBias, {b.OutputGradient()}, {b.ParameterGradient(0)}));
  if (b.WantsGradient()) b.ShareGradient(0);
}

Shape InferClassToken(const LayerAttributes&, const std::vector<Shape>& inputs, std::string&) {
  return {.n = inputs[0].n, .c = inputs[0].c, .w = inputs[0].Spatial() + 1};
}

std::vector<ParameterShape> ClassTokenParameters(const LayerAttributes&, const Shape& input) {
  return {{"weight", {.n = 1, .c = input.c}}};
}

void ForwardClassToken(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(b.NewOp(OpKind::kClassToken, Pass::kForward, {b.Input(), b.Parameter(0)}, {result}));
}

void BackwardClassToken(StepWriter& b) {
  if (b.Trains(0)) {
    b.Emit(b.NewOp(OpKind::kClassToken, Pass::kBackwardBias, {b.OutputGradient()}, {b.ParameterGradient(0)}));
  }
  if (b.WantsGradient()) {
    b.EmitInputGradient(0, b.NewOp(OpKind::kClassToken, Pass::kBackwardData, {b.OutputGradient()}, {}));
  }
}

Shape InferRope(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (inputs[0].c % (2 * a.heads) != 0) {
    problem = std::to_string(a.heads) + " heads do not divide " + std::to_string(inputs[0].c) + " channels into pairs";
  }
  return inputs[0];
}

Op RopeOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kRope, pass, std::move(reads), std::move(writes));
  op.shape.groups = b.attributes().heads;
  return op;
}

void ForwardRope(StepWriter& b) {
  const TensorId result = b.NewResult();
  b.Emit(RopeOp(b, Pass::kForward, {b.Input()}, {result}));
}

void BackwardRope(StepWriter& b) { b.EmitInputGradient(0, RopeOp(b, Pass::kBackward, {b.OutputGradient()}, {})); }

}  // namespace

const LayerKind kPositionLayer{
    .name = "position",
    .description = "adds a learned vector to each position",
    .keys = kPositionsKey | kFrozenKey,
    .autocast = AutocastTo::kWide,
    .infer = InferPosition,
    .parameters = PositionParameters,
    .forward = ForwardPosition,
    .backward = BackwardPosition,
};

const LayerKind kClassTokenLayer{
    .name = "class_token",
    .description = "puts a learned token in front of the others",
    .keys = kFrozenKey,
    .autocast = AutocastTo::kWide,
    .infer = InferClassToken,
    .parameters = ClassTokenParameters,
    .forward = ForwardClassToken,
    .backward = BackwardClassToken,
};

const LayerKind kRopeLayer{
    .name = "rope",
    .description = "rotates pairs of channels by angles that grow with the position",
    .keys = kHeadsKey,
    .required = kHeadsKey,
    .infer = InferRope,
    .forward = ForwardRope,
    .backward = BackwardRope,
};

}  // namespace spillway
