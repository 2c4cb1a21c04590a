// What convolution and linear layers have in common.
#include <utility>

#include "model/layers/shared.h"
#include "model/network/network.h"

namespace spillway {

namespace {

// The bias: ops of their own, in place on the layer's result; nothing for a layer without. It is its parameter 1.
Op BiasOp(StepWriter& b, Pass pass, std::vector<TensorId> reads, TensorId result, const char* label) {
  Op op = b.NewOp(OpKind::kBias, pass, std::move(reads), {result}, label);
  op.shape = {.in = b.layer().shape, .out = b.layer().shape};
  return op;
}

void EmitBias(StepWriter& b) {
  if (!b.attributes().bias) return;
  b.Emit(BiasOp(b, Pass::kForward, {b.Result(), b.Parameter(1)}, b.Result(), "bias"));
}

void EmitBiasGradient(StepWriter& b) {
  if (!b.attributes().bias || !b.Trains(1)) return;
  b.Emit(BiasOp(b, Pass::kBackwardBias, {b.OutputGradient()}, b.ParameterGradient(1), ""));
}

// Of a transposed convolution they stand as in the convolution that computes it, where the two change places.
std::vector<TensorId> Operands(OpKind kind, TensorId first, TensorId second) {
  if (kind == OpKind::kTransposedConvolution) std::swap(first, second);
  return {first, second};
}

// A linear layer of the first position computes with its channels; the tensor that they lie in has all positions.
Op WeightedOp(const StepWriter& b, OpKind kind, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  Op op = b.NewOp(kind, pass, std::move(reads), std::move(writes));
  if (!b.attributes().first) return op;
  op.details.whole = b.InputShape();
  op.shape.in = {.n = op.shape.in.n, .c = op.shape.in.c};
  return op;
}

}  // namespace

std::vector<ParameterShape> WeightAndBias(const LayerAttributes& attributes, const Shape& weight) {
  std::vector<ParameterShape> parameters{{"weight", weight}};
  if (attributes.bias) parameters.push_back({"bias", {.n = 1, .c = attributes.out_channels}});
  return parameters;
}

void CheckGroups(const LayerAttributes& a, std::int64_t in_channels, std::string& problem) {
  if (in_channels % a.groups == 0 && a.out_channels % a.groups == 0) return;
  problem = std::to_string(a.groups) + " groups do not divide " + std::to_string(in_channels) + " input and " +
            std::to_string(a.out_channels) + " output channels";
}

void EmitWeighted(StepWriter& b, OpKind kind) {
  const TensorId result = b.NewResult();
  b.Emit(WeightedOp(b, kind, Pass::kForward, Operands(kind, b.Input(), b.Parameter(0)), {result}));
  EmitBias(b);
}

void EmitWeightedBackward(StepWriter& b, OpKind kind) {
  const TensorId gradient = b.OutputGradient();
  const auto filter = [&] {
    b.EmitParameterGradient(0, WeightedOp(b, kind, Pass::kBackwardFilter, Operands(kind, b.Input(), gradient), {}));
  };
  const auto data = [&] {
    if (!b.WantsGradient()) return;
    std::vector<TensorId> reads = Operands(kind, b.Parameter(0), gradient);
    const bool keeps_input = !b.Trains(0) && b.options().saved->frozen_convolution_input;
    if (keeps_input && kind != OpKind::kLinear) reads.push_back(b.Input());
    b.EmitInputGradient(0, WeightedOp(b, kind, Pass::kBackwardData, std::move(reads), {}));
  };
  if (b.options().data_first) {
    data();
    filter();
    EmitBiasGradient(b);
  } else {
    EmitBiasGradient(b);
    filter();
    data();
  }
}

}  // namespace spillway
