// From ops to calls: what a Launch leaves out is looked up in network and step.
#include "calibrate/run/op_call.h"

#include <algorithm>
#include <numeric>

#include "model/network/layer_kind.h"

namespace spillway {
namespace {

// Whether a gradient is computed for a value: something trainable lies behind it.
bool Wants(const Network& network, LayerId id) {
  if (id == kNetworkInput) return false;
  const Layer& layer = network.layers[Index(id)];
  if (layer.kind->parameters != nullptr) return true;
  return std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](LayerId k) { return Wants(network, k); });
}

// Where the layer's inputs are among the op's reads, where each tensor stands once.
std::vector<std::size_t> OperandOfInput(const Layer& layer, const Op& op) {
  std::vector<LayerId> distinct;
  std::vector<std::size_t> operands;
  for (const LayerId input : layer.inputs) {
    const auto found = std::find(distinct.begin(), distinct.end(), input);
    operands.push_back(static_cast<std::size_t>(found - distinct.begin()));
    if (found == distinct.end()) distinct.push_back(input);
  }
  if (distinct.size() != op.reads.size()) {
    throw UserError("op " + op.name + ": a device cannot tell which of its inputs are the same tensor");
  }
  return operands;
}

std::vector<OpSlice> AllInputs(const Network& network, const Layer& layer) {
  std::vector<OpSlice> slices;
  std::int64_t channel = 0;
  for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
    slices.push_back({.operand = k, .first_channel = channel, .channels = network.InputShape(layer, k).c});
    channel += slices.back().channels;
  }
  return slices;
}

// A concat's backward is one op for the first contributions to gradients, "concat:backward", and one op for each
// input k that has contributions already, "concat:backward<k>".
std::vector<OpSlice> ConcatBackwardSlices(const Network& network, const TrainingStep& step, const Op& op) {
  const Layer& layer = network.layers[Index(op.layer)];
  const std::string whole = layer.name + ":" + PassName(Pass::kBackward);
  std::vector<OpSlice> slices = AllInputs(network, layer);
  if (op.name != whole) {
    OpSlice slice = slices[std::stoul(op.name.substr(whole.size()))];
    slice.operand = 0;
    return {slice};
  }
  const auto elsewhere = [&](const OpSlice& slice) {
    const std::string name = whole + std::to_string(slice.operand);
    return !Wants(network, layer.inputs[slice.operand]) ||
           std::any_of(step.ops.begin(), step.ops.end(), [&](const Op& other) { return other.name == name; });
  };
  slices.erase(std::remove_if(slices.begin(), slices.end(), elsewhere), slices.end());
  for (std::size_t k = 0; k < slices.size(); ++k) slices[k].operand = k;
  return slices;
}

// An add of gradients adds its first read to the result, or sums its reads: one read is both operands then.
std::vector<OpSlice> GradientSum(const Op& op) {
  if (op.accumulate) return {{.operand = 0}};
  return {{.operand = 0}, {.operand = op.reads.size() - 1}};
}

std::vector<OpSlice> SlicesOf(const Network& network, const TrainingStep& step, const Op& op) {
  const bool forward = op.pass == Pass::kForward;
  if (op.kind == OpKind::kAdd && !forward) return GradientSum(op);
  if (op.kind == OpKind::kConcat && !forward) return ConcatBackwardSlices(network, step, op);
  if (op.kind != OpKind::kAdd && op.kind != OpKind::kConcat) return {};
  const Layer& layer = network.layers[Index(op.layer)];
  std::vector<OpSlice> slices = AllInputs(network, layer);
  const std::vector<std::size_t> operands = OperandOfInput(layer, op);
  for (std::size_t k = 0; k < slices.size(); ++k) {
    slices[k].operand = operands[k];
    if (op.kind == OpKind::kAdd) slices[k] = {.operand = operands[k]};
  }
  return slices;
}

}  // namespace

OpCall CallOf(const Launch& launch) {
  OpCall call{.launch = launch, .slices = {}};
  const bool add = launch.kind == OpKind::kAdd, concat = launch.kind == OpKind::kConcat;
  if (!add && !concat) return call;
  const std::int64_t operands = std::max<std::int64_t>(launch.shape.operands, 1);
  call.channels = concat ? launch.shape.out.c : 0;
  for (std::int64_t k = 0; k < operands; ++k) {
    const std::int64_t begin = call.channels * k / operands, end = call.channels * (k + 1) / operands;
    call.slices.push_back({.operand = static_cast<std::size_t>(k), .first_channel = begin, .channels = end - begin});
  }
  if (concat || !launch.accumulate) return call;
  call.slices = {{.operand = 0}};
  return call;
}

OpCall CallOf(const Network& network, const TrainingStep& step, OpId id) {
  const Op& op = step.ops[Index(id)];
  OpCall call{.launch = LaunchOf(op), .slices = SlicesOf(network, step, op)};
  const Layer& layer = network.layers[Index(op.layer)];
  if (op.kind == OpKind::kConcat) call.channels = layer.shape.c;
  if (op.kind == OpKind::kDropout) call.dropout_rate = layer.attributes.rate;
  if (op.kind == OpKind::kBatchNorm && op.pass == Pass::kBackward) call.input_gradient = op.writes.size() == 3;
  return call;
}

}  // namespace spillway
