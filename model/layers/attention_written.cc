// Attention written out, as frameworks without a fused kernel compute it:
//
//   scores = queries x keys  [biased]  probabilities = softmax(scores)  [dropped]  result = probabilities x values
//
// Each gradient is another product. Those of a packed input are parts of one tensor, which the first of them begins.
//
// Autocast multiplies narrow, and adds, normalises and drops wide: scores are cast where nothing is added to them, and so are
// the probabilities, which are kept in both types.
#include "model/layers/attention_ops.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

bool Biased(const StepWriter& b) {
  const WindowGrid grid = GridOf(b.attributes());
  return grid.HasTable() || grid.Shifted();
}

// The layer's inner tensors, in the order in which forward makes them: scores, [wide or biased scores], probabilities,
// [dropped], [narrow].
std::size_t ProbabilitiesInner(const StepWriter& b) { return Biased(b) || b.Narrows() ? 2 : 1; }
// What the product with the values reads.
std::size_t FactorInner(const StepWriter& b) {
  return ProbabilitiesInner(b) + (Drops(b) ? 1 : 0) + (b.Narrows() ? 1 : 0);
}

Shape ScoresShape(const StepWriter& b) {
  const HeadSplit split = SplitOf(b);
  return {.n = b.layer().shape.n, .c = split.heads, .d = split.rows, .h = split.queries, .w = split.keys};
}

TensorId Inner(StepWriter& b, const char* name) { return b.NewInner(name, ScoresShape(b), b.WideType()); }
TensorId InnerGradient(StepWriter& b, const char* name) {
  return b.NewInnerGradient(name, ScoresShape(b), b.WideType());
}

void EmitCast(StepWriter& b, Pass pass, TensorId from, TensorId to, const char* label) {
  Op op = b.NewCast(pass, from, to, ScoresShape(b));
  op.name = b.layer().name + ":" + label;
  b.Emit(std::move(op));
}

// The scores as softmax reads them: wide, with what is added to them.
TensorId ScoresToNormalise(StepWriter& b, TensorId raw) {
  if (Biased(b)) {
    std::vector<TensorId> reads{raw};
    if (GridOf(b.attributes()).HasTable()) reads.push_back(b.Parameter(0));
    const TensorId biased = Inner(b, "biased");
    b.Emit(ScoreBiasOp(b, Pass::kForward, ScoresShape(b), std::move(reads), {biased}));
    return biased;
  }
  if (!b.Narrows()) return raw;
  const TensorId wide = Inner(b, "wide_scores");
  EmitCast(b, Pass::kForward, raw, wide, "cast_scores");
  return wide;
}

// `in`, `out`: the first factor and the result, as if each head had keys and values of its own.
Op ProductOp(const StepWriter& b, ProductRole role, std::vector<TensorId> reads, TensorId result, const char* label) {
  const bool forward = role == ProductRole::kScores || role == ProductRole::kMixture;
  const HeadSplit split = SplitOf(b);
  const Shape scores = ScoresShape(b),
              queries{.n = scores.n, .c = split.heads * split.size, .h = split.rows, .w = split.queries},
              keys{.n = scores.n, .c = queries.c, .h = split.rows, .w = split.keys};
  Op op = b.NewOp(OpKind::kProduct, forward ? Pass::kForward : Pass::kBackward, std::move(reads), {result}, label);
  op.details.heads = split;
  op.details.heads.role = role;
  op.shape = {.in = scores, .out = queries, .window = {split.keys, 1, 1}, .groups = split.heads * split.rows};
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
  op.type = b.WideType();
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
  const std::int64_t rows = InRows(a) ? b.layer().shape.d * b.layer().shape.h : 1;
  return {.heads = a.heads,
          .kv_heads = KvHeads(a),
          .size = b.layer().shape.c / a.heads,
          .queries = b.layer().shape.Spatial() / rows,
          .keys = b.InputShape(b.inputs() == 1 ? 0 : 1).Spatial() / rows,
          .rows = rows,
          .packed = b.inputs() == 1};
}

bool Drops(const StepWriter& b) { return b.attributes().dropout > 0 && !b.options().inference; }

std::vector<TensorId> AllInputs(const StepWriter& b) {
  std::vector<TensorId> inputs;
  for (std::size_t k = 0; k < b.inputs(); ++k) inputs.push_back(b.Input(k));
  return inputs;
}

void ForwardWritten(StepWriter& b) {
  const TensorId raw = b.NewInner("scores", ScoresShape(b), b.Type());
  b.Emit(ProductOp(b, ProductRole::kScores, {Factor(b, 0), Factor(b, 1)}, raw, "scores"));
  const TensorId read = ScoresToNormalise(b, raw), probabilities = Inner(b, "probabilities");
  b.Emit(ScoresOp(b, OpKind::kSoftmax, Pass::kForward, {read}, {probabilities}, "softmax"));
  TensorId factor = probabilities;
  if (Drops(b)) {
    factor = Inner(b, "dropped");
    Op op = ScoresOp(b, OpKind::kDropout, Pass::kForward, {probabilities}, {factor}, "dropout");
    b.NewAuxiliary("mask", ScoresShape(b), op.details.mask_type);
    op.writes.push_back(b.Auxiliary(0));
    op.side_effect = true;
    b.Emit(std::move(op));
  }
  if (b.Narrows()) {
    const TensorId wide = factor;
    factor = b.NewInner("narrow", ScoresShape(b), b.Type());
    EmitCast(b, Pass::kForward, wide, factor, "cast_probabilities");
  }
  b.Emit(ProductOp(b, ProductRole::kMixture, {factor, Factor(b, 2)}, b.NewResult(), "forward"));
}

namespace {

// From the gradient of what the product with the values has read to that of the scores that a product has written.
TensorId BackThroughSoftmax(StepWriter& b, TensorId inner) {
  if (b.Narrows()) {
    const TensorId narrow = inner;
    inner = InnerGradient(b, Drops(b) ? "dropped" : "probabilities");
    EmitCast(b, Pass::kBackward, narrow, inner, "backward_cast_probabilities");
  }
  if (Drops(b)) {
    const TensorId masked = inner;
    inner = InnerGradient(b, "probabilities");
    b.Emit(ScoresOp(b, OpKind::kDropout, Pass::kBackward, {b.Auxiliary(0), masked}, {inner}, "backward_dropout"));
  }
  const TensorId raw = InnerGradient(b, b.Narrows() ? "wide_scores" : "scores");
  b.Emit(ScoresOp(b, OpKind::kSoftmax, Pass::kBackward, {b.Inner(ProbabilitiesInner(b)), inner}, {raw},
                  "backward_softmax"));
  if (GridOf(b.attributes()).HasTable() && b.Trains(0)) {
    b.Emit(ScoreBiasOp(b, Pass::kBackwardBias, ScoresShape(b), {raw}, {b.ParameterGradient(0)}));
  }
  if (!b.Narrows()) return raw;
  const TensorId narrow = b.NewInnerGradient("scores", ScoresShape(b), b.Type());
  EmitCast(b, Pass::kBackward, raw, narrow, "backward_cast_scores");
  return narrow;
}

}  // namespace

void BackwardWritten(StepWriter& b) {
  const bool packed = b.inputs() == 1;
  const TensorId gradient = b.OutputGradient();
  const char* const of_factor = b.Narrows() ? "narrow" : Drops(b) ? "dropped" : "probabilities";
  const TensorId inner = b.NewInnerGradient(of_factor, ScoresShape(b), b.Type());
  b.Emit(ProductOp(b, ProductRole::kScoresGradient, {gradient, Factor(b, 2)}, inner, "backward_probabilities"));
  const TensorId whole = packed ? b.NewGradientPart(0) : kNoTensor;
  const auto emit_part = [&](std::size_t k, ProductRole role, std::vector<TensorId> reads, const char* label) {
    if (!packed && !b.WantsGradient(k)) return;
    const TensorId part = packed ? whole : b.NewGradientPart(k);
    if (packed && role != ProductRole::kValueGradient) reads.push_back(whole);
    b.Emit(ProductOp(b, role, std::move(reads), part, label));
    if (!packed) b.AddGradientPart(k, part);
  };
  emit_part(2, ProductRole::kValueGradient, {gradient, b.Inner(FactorInner(b))}, "backward_values");
  const TensorId raw = BackThroughSoftmax(b, inner);
  emit_part(0, ProductRole::kQueryGradient, {raw, Factor(b, 1)}, "backward_queries");
  emit_part(1, ProductRole::kKeyGradient, {raw, Factor(b, 0)}, "backward_keys");
  if (packed) b.AddGradientPart(0, whole);
}

}  // namespace spillway
