// Attention in heads (Vaswani et al. 2017, arXiv 1706.03762, section 3.2), of a packed layer of queries, keys and values or
// of a layer for each.
//
// Fused: one op, which keeps its inputs, its result and the logarithm of each row's sum (Dao et al. 2022, arXiv 2205.14135).
// Written out: a product, softmax, dropout and another product; the probabilities are kept, T x T of each head.
#include "model/layers/attention_ops.h"
#include "model/network/layer_kind.h"
#include "model/network/network_keys.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

// Channels of a head, where all heads have as many; else 0.
std::int64_t SizeOfHead(const Shape& shape, std::int64_t heads) { return shape.c % heads == 0 ? shape.c / heads : 0; }

std::string HeadsText(const LayerAttributes& a) {
  std::string text = std::to_string(a.heads) + " heads";
  if (KvHeads(a) != a.heads) text += ", " + std::to_string(KvHeads(a)) + " of keys and values,";
  return text;
}

std::string HeadProblem(const LayerAttributes& a, const std::vector<Shape>& inputs) {
  if (a.heads % KvHeads(a) != 0) {
    return std::to_string(KvHeads(a)) + " heads of keys and values do not divide " + std::to_string(a.heads) + " heads";
  }
  if (inputs.size() == 2) return "attention reads one layer that has queries, keys and values, or three layers";
  const bool packed = inputs.size() == 1;
  const std::int64_t size = SizeOfHead(inputs[0], packed ? a.heads + 2 * KvHeads(a) : a.heads);
  if (size == 0) return HeadsText(a) + " do not divide " + std::to_string(inputs[0].c) + " channels";
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    if (inputs[k].c == size * KvHeads(a)) continue;
    return std::string(k == 1 ? "keys" : "values") + " of " + std::to_string(inputs[k].c) + " channels for " +
           HeadsText(a) + " of " + std::to_string(size) + " channels each";
  }
  return "";
}

std::string PositionProblem(const LayerAttributes& a, const std::vector<Shape>& inputs) {
  if (inputs.size() != 3) return "";
  if (inputs[1].Spatial() != inputs[2].Spatial()) {
    return "keys and values differ in positions: " + ShapeText(inputs[1]) + " and " + ShapeText(inputs[2]);
  }
  if (a.causal && inputs[0].Spatial() != inputs[1].Spatial()) {
    return "queries and keys of causal attention differ in positions: " + ShapeText(inputs[0]) + " and " +
           ShapeText(inputs[1]);
  }
  return "";
}

// Scores are a tensor where attention is written out. A fused op keeps none, so that it may have more of them. Step options
// without such ops write it out: sums of a thousand layers' bytes still fit.
constexpr double kMaxFusedScores = 100 * kMaxElements;

std::string SizeProblem(const LayerAttributes& a, const std::vector<Shape>& inputs) {
  const Shape& queries = inputs[0];
  const Shape& keys = inputs.size() == 1 ? inputs[0] : inputs[1];
  const std::int64_t rows = InRows(a) ? queries.d * queries.h : 1;
  const Shape scores{
      .n = queries.n, .c = a.heads, .d = rows, .h = queries.Spatial() / rows, .w = keys.Spatial() / rows};
  const double most = a.fused && !InRows(a) ? kMaxFusedScores : kMaxElements;
  return ElementsAsGiven(scores) <= most ? "" : "scores of " + ShapeText(scores) + ": too large";
}

Shape Infer(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  problem = HeadProblem(a, inputs);
  if (problem.empty()) problem = PositionProblem(a, inputs);
  if (problem.empty()) problem = WindowProblem(a, inputs);
  if (problem.empty()) problem = SizeProblem(a, inputs);
  Shape shape = inputs[0];
  if (inputs.size() == 1 && problem.empty()) shape.c = shape.c / (a.heads + 2 * KvHeads(a)) * a.heads;
  return shape;
}

Op FusedOp(const StepWriter& b, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes) {
  const HeadSplit split = SplitOf(b);
  Op op = b.NewOp(OpKind::kAttention, pass, std::move(reads), std::move(writes));
  op.shape = {.in = {.n = b.layer().shape.n, .c = split.kv_heads * split.size, .w = split.keys},
              .out = b.layer().shape,
              .groups = split.heads,
              .operands = AttentionOperands(b.attributes().causal, Drops(b))};
  op.details.heads = split;
  op.details.slices = b.InputSlices();
  op.details.dropout_rate = Drops(b) ? b.attributes().dropout : 0;
  return op;
}

void ForwardFused(StepWriter& b) {
  std::vector<TensorId> writes{b.NewResult()};
  if (!b.options().inference) {
    const HeadSplit split = SplitOf(b);
    b.NewAuxiliary("log_sum", {.n = b.layer().shape.n, .c = split.heads, .w = split.queries}, DataType::kFp32);
    writes.push_back(b.Auxiliary(0));
  }
  Op op = FusedOp(b, Pass::kForward, AllInputs(b), std::move(writes));
  op.side_effect = Drops(b);
  b.Emit(std::move(op));
}

void BackwardFused(StepWriter& b) {
  std::vector<TensorId> reads = AllInputs(b), writes;
  for (const TensorId read : {b.Result(), b.Auxiliary(0), b.OutputGradient()}) reads.push_back(read);
  for (std::size_t k = 0; k < b.inputs(); ++k) writes.push_back(b.NewGradientPart(k));
  b.Emit(FusedOp(b, Pass::kBackward, std::move(reads), writes));
  for (std::size_t k = 0; k < b.inputs(); ++k) b.AddGradientPart(k, writes[k]);
}

bool Fused(const StepWriter& b) {
  return b.attributes().fused && !InRows(b.attributes()) && b.options().saved->fused_attention;
}

void Forward(StepWriter& b) { Fused(b) ? ForwardFused(b) : ForwardWritten(b); }
void Backward(StepWriter& b) { Fused(b) ? BackwardFused(b) : BackwardWritten(b); }

}  // namespace

const LayerKind kAttentionLayer{
    .name = "attention",
    .description = "attention in heads, of one layer with queries, keys and values or of three",
    .min_inputs = 1,
    .max_inputs = 3,
    .keys = kHeadsKey | kKvHeadsKey | kCausalKey | kFusedKey | kDropoutKey | kBlockKey | kRelativeKey |
            kWindowShiftKey | kBlockedImageKey | kFrozenKey,
    .required = kHeadsKey,
    .backward_reads_result = true,
    .autocast = AutocastTo::kNarrow,
    .wide_parameters = true,
    .infer = Infer,
    .parameters = WindowParameters,
    .forward = Forward,
    .backward = Backward,
};

}  // namespace spillway
