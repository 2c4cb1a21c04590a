// Attention written out, as frameworks without a fused kernel compute it:
//
//   scores = queries x keys      probabilities = softmax(scores)      [dropped]      result = probabilities x values
//
// Each gradient is another product. Those of a packed input are parts of one tensor, which the first of them begins.
#include "model/layers/attention_ops.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

// The layer's inner tensors, in the order in which forward makes them.
enum Inner : std::size_t { kScoresInner, kProbabilities, kDropped };

Shape ScoresShape(const StepWriter& b) {
  const HeadSplit split = SplitOf(b);
  return {.n = b.layer().shape.n, .c = split.heads, .h = split.queries, .w = split.keys};
}

// `in`, `out`: the first factor and the result, as if each head had keys and values of its own.
Op ProductOp(const StepWriter& b, ProductRole role, std::vector<TensorId> reads, TensorId result, const char* label) {
  const bool forward = role == ProductRole::kScores || role == ProductRole::kMixture;
  const HeadSplit split = SplitOf(b);
  const Shape scores = ScoresShape(b), queries{.n = scores.n, .c = split.heads * split.size, .w = split.queries},
              keys{.n = scores.n, .c = queries.c, .w = split.keys};
  Op op = b.NewOp(OpKind::kProduct, forward ? Pass::kForward : Pass::kBackward, std::move(reads), {result}, label);
  op.details.heads = split;
  op.details.heads.role = role;
  op.shape = {.in = scores, .out = queries, .window = {split.keys, 1, 1}, .groups = split.heads};
  if (role == ProductRole::kScores || role == ProductRole::kScoresGradient) {
    op.shape.in = queries, op.shape.out = scores, op.shape.window[0] = split.size;
  } else if (role == ProductRole::kValueGradient) {
    op.shape.in = queries, op.shape.out = keys, op.shape.window[0] = split.queries;
  } else if (role == ProductRole::kKeyGradient) {
    op.shape.out = keys, op.shape.window[0] = split.queries;
  }
  return op;
}

Op ScoresOp(const StepWriter& b, OpKind kind, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes,
            const char* label) {
  Op op = b.NewOp(kind, pass, std::move(reads), std::move(writes), label);
  op.shape = {.in = ScoresShape(b), .out = ScoresShape(b)};
  if (kind == OpKind::kDropout) {
    op.details.dropout_rate = b.attributes().dropout;
    op.details.mask_type = b.options().saved->MaskType(op.type);
  }
  if (kind == OpKind::kSoftmax) {
    op.shape.window = {1, 1, op.shape.in.w};
    op.details.heads = SplitOf(b);
    op.details.causal = b.attributes().causal;
    op.details.along_width = op.details.scaled = true;
  }
  return op;
}

// What has queries (0), keys (1) or values (2).
TensorId Factor(const StepWriter& b, std::size_t k) { return b.Input(b.inputs() == 1 ? 0 : k); }

}  // namespace

HeadSplit SplitOf(const StepWriter& b) {
  const LayerAttributes& a = b.attributes();
  return {.heads = a.heads,
          .kv_heads = KvHeads(a),
          .size = b.layer().shape.c / a.heads,
          .queries = b.layer().shape.Spatial(),
          .keys = b.InputShape(b.inputs() == 1 ? 0 : 1).Spatial(),
          .packed = b.inputs() == 1};
}

bool Drops(const StepWriter& b) { return b.attributes().dropout > 0 && !b.options().inference; }

std::vector<TensorId> AllInputs(const StepWriter& b) {
  std::vector<TensorId> inputs;
  for (std::size_t k = 0; k < b.inputs(); ++k) inputs.push_back(b.Input(k));
  return inputs;
}

void ForwardWritten(StepWriter& b) {
  const Shape scores = ScoresShape(b);
  const TensorId raw = b.NewInner("scores", scores);
  b.Emit(ProductOp(b, ProductRole::kScores, {Factor(b, 0), Factor(b, 1)}, raw, "scores"));
  const TensorId probabilities = b.NewInner("probabilities", scores);
  b.Emit(ScoresOp(b, OpKind::kSoftmax, Pass::kForward, {raw}, {probabilities}, "softmax"));
  TensorId factor = probabilities;
  if (Drops(b)) {
    factor = b.NewInner("dropped", scores);
    Op op = ScoresOp(b, OpKind::kDropout, Pass::kForward, {probabilities}, {factor}, "dropout");
    b.NewAuxiliary("mask", scores, op.details.mask_type);
    op.writes.push_back(b.Auxiliary(0));
    op.side_effect = true;
    b.Emit(std::move(op));
  }
  b.Emit(ProductOp(b, ProductRole::kMixture, {factor, Factor(b, 2)}, b.NewResult(), "forward"));
}

void BackwardWritten(StepWriter& b) {
  const Shape scores = ScoresShape(b);
  const bool packed = b.inputs() == 1, drops = Drops(b);
  const TensorId probabilities = b.Inner(kProbabilities), gradient = b.OutputGradient();
  TensorId inner = b.NewInnerGradient(drops ? "dropped" : "probabilities", scores);
  b.Emit(ProductOp(b, ProductRole::kScoresGradient, {gradient, Factor(b, 2)}, inner, "backward_probabilities"));
  const TensorId whole = packed ? b.NewGradientPart(0) : kNoTensor;
  const auto emit_part = [&](std::size_t k, ProductRole role, std::vector<TensorId> reads, const char* label) {
    if (!packed && !b.WantsGradient(k)) return;
    const TensorId part = packed ? whole : b.NewGradientPart(k);
    if (packed && role != ProductRole::kValueGradient) reads.push_back(whole);
    b.Emit(ProductOp(b, role, std::move(reads), part, label));
    if (!packed) b.AddGradientPart(k, part);
  };
  emit_part(2, ProductRole::kValueGradient, {gradient, drops ? b.Inner(kDropped) : probabilities}, "backward_values");
  if (drops) {
    const TensorId masked = inner;
    inner = b.NewInnerGradient("probabilities", scores);
    b.Emit(ScoresOp(b, OpKind::kDropout, Pass::kBackward, {b.Auxiliary(0), masked}, {inner}, "backward_dropout"));
  }
  const TensorId raw = b.NewInnerGradient("scores", scores);
  b.Emit(ScoresOp(b, OpKind::kSoftmax, Pass::kBackward, {probabilities, inner}, {raw}, "backward_softmax"));
  emit_part(0, ProductRole::kQueryGradient, {raw, Factor(b, 1)}, "backward_queries");
  emit_part(1, ProductRole::kKeyGradient, {raw, Factor(b, 0)}, "backward_keys");
  if (packed) b.AddGradientPart(0, whole);
}

}  // namespace spillway
