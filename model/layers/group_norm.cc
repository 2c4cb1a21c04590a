// Group normalisation (Wu and He 2018, arXiv 1803.08494): mean and deviation of each sample by groups of channels. Instance
// normalisation is the same with a group for each channel.
//
// PyTorch computes instance norm as batch norm of one sample with n x c channels and keeps the scale repeated for each
// sample: a vector more for backward (SavedTensors::repeated_scale).
#include <string>
#include <utility>
#include <vector>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

std::vector<ParameterShape> Parameters(const LayerAttributes& a, const Shape& input) {
  if (!a.affine) return {};
  return {{"scale", {.n = 1, .c = input.c}}, {"shift", {.n = 1, .c = input.c}}};
}

Shape InferGroups(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (inputs[0].c % a.norm_groups != 0) {
    problem = std::to_string(a.norm_groups) + " groups do not divide " + std::to_string(inputs[0].c) + " channels";
  }
  return inputs[0];
}

Op NormOp(StepWriter& b, Pass pass, std::int64_t groups, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kGroupNorm, pass, std::move(reads), std::move(writes));
  op.shape.groups = groups;
  op.details.affine = b.attributes().affine;
  return op;
}

void EmitForward(StepWriter& b, std::int64_t groups, bool repeats_scale) {
  std::vector<TensorId> reads{b.Input()}, writes{b.NewResult()};
  if (b.attributes().affine) reads.insert(reads.end(), {b.Parameter(0), b.Parameter(1)});
  if (!b.options().inference) {
    const Shape& shape = b.layer().shape;
    b.NewAuxiliary("mean", {.n = shape.n, .c = groups}, DataType::kFp32);
    b.NewAuxiliary("inverse_deviation", {.n = shape.n, .c = groups}, DataType::kFp32);
    writes.insert(writes.end(), {b.Auxiliary(0), b.Auxiliary(1)});
    if (repeats_scale && b.attributes().affine) {
      b.NewAuxiliary("repeated_scale", {.n = shape.n, .c = shape.c}, DataType::kFp32);
      writes.push_back(b.Auxiliary(2));
    }
  }
  b.Emit(NormOp(b, Pass::kForward, groups, std::move(reads), std::move(writes)));
}

void EmitBackward(StepWriter& b, std::int64_t groups, bool repeats_scale) {
  const bool affine = b.attributes().affine;
  std::vector<TensorId> reads{b.Input(), b.OutputGradient(), b.Auxiliary(0), b.Auxiliary(1)}, writes;
  if (affine) {
    reads.push_back(b.Parameter(0));
    if (repeats_scale) reads.push_back(b.Auxiliary(2));
    writes = {b.ParameterGradient(0), b.ParameterGradient(1)};
  }
  Op op = NormOp(b, Pass::kBackward, groups, std::move(reads), std::move(writes));
  op.details.input_gradient = b.WantsGradient();
  if (b.WantsGradient()) {
    b.EmitInputGradient(0, std::move(op));
  } else {
    b.Emit(std::move(op));
  }
}

void Forward(StepWriter& b) { EmitForward(b, b.attributes().norm_groups, false); }
void Backward(StepWriter& b) { EmitBackward(b, b.attributes().norm_groups, false); }
void ForwardInstance(StepWriter& b) { EmitForward(b, b.layer().shape.c, b.options().saved->repeated_scale); }
void BackwardInstance(StepWriter& b) { EmitBackward(b, b.layer().shape.c, b.options().saved->repeated_scale); }

}  // namespace

const LayerKind kGroupNormLayer{
    .name = "group_norm",
    .description = "normalisation of each sample by groups of channels",
    .keys = kNormGroupsKey | kAffineKey | kFrozenKey,
    .autocast = AutocastTo::kWide,
    .infer = InferGroups,
    .parameters = Parameters,
    .forward = Forward,
    .backward = Backward,
};

const LayerKind kInstanceNormLayer{
    .name = "instance_norm",
    .description = "normalisation of each channel of each sample",
    .keys = kAffineKey | kFrozenKey,
    .infer = SameShape,
    .parameters = Parameters,
    .forward = ForwardInstance,
    .backward = BackwardInstance,
};

}  // namespace spillway
