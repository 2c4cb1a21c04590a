// Layer normalisation over the channels of each position (Ba et al. 2016, arXiv 1607.06450), and the same by the root mean
// square alone, without mean and shift (Zhang and Sennrich 2019, arXiv 1910.07467).
#include <string>
#include <utility>
#include <vector>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

std::vector<ParameterShape> ScaleOf(const LayerAttributes& a, const Shape& input) {
  if (!a.affine) return {};
  return {{"scale", {.n = 1, .c = input.c}}};
}

std::vector<ParameterShape> ScaleAndShift(const LayerAttributes& a, const Shape& input) {
  std::vector<ParameterShape> parameters = ScaleOf(a, input);
  if (a.affine) parameters.push_back({"shift", {.n = 1, .c = input.c}});
  return parameters;
}

Op NormOp(StepWriter& b, Pass pass, bool root, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kLayerNorm, pass, std::move(reads), std::move(writes));
  op.details.affine = b.attributes().affine;
  op.details.root_mean_square = root;
  return op;
}

template <bool kRoot>
void Forward(StepWriter& b) {
  std::vector<TensorId> reads{b.Input()}, writes{b.NewResult()};
  if (b.attributes().affine) reads.push_back(b.Parameter(0));
  if (b.attributes().affine && !kRoot) reads.push_back(b.Parameter(1));
  if (!b.options().inference) {
    Shape positions = b.layer().shape;
    positions.c = 1;
    b.NewAuxiliary("inverse_deviation", positions, DataType::kFp32);
    writes.push_back(b.Auxiliary(0));
    if (!kRoot) {
      b.NewAuxiliary("mean", positions, DataType::kFp32);
      writes.push_back(b.Auxiliary(1));
    }
  }
  b.Emit(NormOp(b, Pass::kForward, kRoot, std::move(reads), std::move(writes)));
}

template <bool kRoot>
void Backward(StepWriter& b) {
  std::vector<TensorId> reads{b.Input(), b.OutputGradient(), b.Auxiliary(0)}, writes;
  if (!kRoot) reads.push_back(b.Auxiliary(1));
  if (b.attributes().affine) {
    reads.push_back(b.Parameter(0));
    writes.push_back(b.ParameterGradient(0));
    if (!kRoot) writes.push_back(b.ParameterGradient(1));
  }
  Op op = NormOp(b, Pass::kBackward, kRoot, std::move(reads), std::move(writes));
  op.details.input_gradient = b.WantsGradient();
  if (b.WantsGradient()) {
    b.EmitInputGradient(0, std::move(op));
  } else {
    b.Emit(std::move(op));
  }
}

}  // namespace

const LayerKind kLayerNormLayer{
    .name = "layer_norm",
    .description = "normalisation over the channels of each position",
    .keys = kAffineKey | kFrozenKey,
    .autocast = AutocastTo::kWide,
    .infer = SameShape,
    .parameters = ScaleAndShift,
    .forward = Forward<false>,
    .backward = Backward<false>,
};

const LayerKind kRmsNormLayer{
    .name = "rms_norm",
    .description = "division of each position's channels by their root mean square, without mean and shift",
    .keys = kAffineKey | kFrozenKey,
    .autocast = AutocastTo::kWide,
    .infer = SameShape,
    .parameters = ScaleOf,
    .forward = Forward<true>,
    .backward = Backward<true>,
};

}  // namespace spillway
