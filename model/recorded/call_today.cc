// Calls of a recording that networks of today make: norms of positions and groups, products of activations, attention,
// softmax, embeddings, other sizes of an image.
#include <algorithm>

#include "hw/text/units.h"
#include "model/recorded/call_rows.h"
#include "model/step/heads.h"

namespace spillway {

namespace {

constexpr std::size_t kHeadAxes = 4;  // (batch, heads, positions, features)

Launches One(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape) {
  return std::vector<Launch>{MadeLaunch(call, kind, pass, shape)};
}

// As many rows as fit, of as many numbers as the statistics' scale has.
Launches RowNorm(const AskedCall& call, const RecordedOperand& input, std::int64_t width, Pass pass) {
  const auto map = MapOf(input);
  if (!map || width < 1 || map->Elements() % width != 0) return std::nullopt;
  return One(call, OpKind::kLayerNorm, pass, Alike({.n = map->Elements() / width, .c = width}));
}

// The product of the whole numbers at the begin: the axes that a norm goes over.
std::int64_t WidthOf(const AskedCall& call, const RecordedOperand& input) {
  double width = 1;
  for (const std::int64_t size : LeadingNumbers(call.of.scalars)) width *= static_cast<double>(size);
  return width >= 1 && width <= input.Elements() ? static_cast<std::int64_t>(width) : 0;
}

// (samples, channels, places, groups) stand at the begin.
Launches GroupNorm(const AskedCall& call, const RecordedOperand& input, Pass pass) {
  std::vector<std::string> scalars = call.of.scalars;
  std::erase(scalars, "null");  // a norm without scale and shift
  const std::vector<std::int64_t> numbers = LeadingNumbers(scalars);
  const auto map = MapOf(input);
  if (!map || input.shape.size() < 2 || input.shape.size() > 5 || numbers.size() < 4) return std::nullopt;
  const bool same = numbers[0] == map->n && numbers[1] == map->c && numbers[2] == map->Spatial();
  if (!same || numbers[3] < 1 || map->c % numbers[3] != 0) return std::nullopt;
  OpShape shape = Alike(*map);
  shape.groups = numbers[3];
  return One(call, OpKind::kGroupNorm, pass, shape);
}

// Batches of (m x k) by (k x n).
std::optional<OpShape> MatricesOf(const RecordedOperand& a, const RecordedOperand& b) {
  if (a.shape.size() != 3 || b.shape.size() != 3 || !MapOf(a) || !MapOf(b)) return std::nullopt;
  if (a.shape[0] != b.shape[0] || a.shape[2] != b.shape[1]) return std::nullopt;
  if (static_cast<double>(a.shape[0]) * static_cast<double>(a.shape[1]) * static_cast<double>(b.shape[2]) > 1e12) {
    return std::nullopt;
  }
  OpShape shape{.in = {.n = a.shape[0], .c = a.shape[1], .w = a.shape[2]},
                .out = {.n = a.shape[0], .c = a.shape[1], .w = b.shape[2]}};
  shape.window = {a.shape[2], 1, 1};
  return shape;
}

bool IsFlag(const std::string& scalar) { return scalar == "true" || scalar == "false"; }

// Dropout's rate is the first number in front of a flag, which says whether attention is causal. Backward of the
// memory-efficient kernel has four flags between them.
struct AttentionWay {
  bool causal = false, drops = false;
};
AttentionWay WayOf(const AskedCall& call, bool backward) {
  const std::vector<std::string>& scalars = call.of.scalars;
  const std::size_t between = backward && call.of.op.find("efficient") != std::string::npos ? 4 : 0;
  AttentionWay way;
  for (std::size_t k = 0; k < scalars.size(); ++k) {
    const auto rate = ParseNumber(scalars[k]);
    const bool last = k + 1 == scalars.size();
    if (!rate || (!last && !IsFlag(scalars[k + 1]))) continue;
    way.drops = *rate > 0 && *rate < 1 && !last;
    way.causal = k + 1 + between < scalars.size() && scalars[k + 1 + between] == "true";
    return way;
  }
  return way;
}

Launches Attention(const AskedCall& call, std::size_t first, Pass pass) {
  if (call.inputs() < first + 3) return std::nullopt;
  const RecordedOperand& q = call.Input(first);
  const RecordedOperand& k = call.Input(first + 1);
  const RecordedOperand& v = call.Input(first + 2);
  for (const RecordedOperand* one : {&q, &k, &v}) {
    if (one->shape.size() != kHeadAxes || !MapOf(*one)) return std::nullopt;
  }
  const bool alike = q.shape[0] == k.shape[0] && q.shape[3] == k.shape[3] && k.shape == v.shape;
  const AttentionWay way = WayOf(call, pass == Pass::kBackward);
  if (!alike || q.shape[1] % k.shape[1] != 0 || (way.causal && q.shape[2] != k.shape[2])) return std::nullopt;
  OpShape shape{.in = {.n = k.shape[0], .c = k.shape[1] * k.shape[3], .w = k.shape[2]},
                .out = {.n = q.shape[0], .c = q.shape[1] * q.shape[3], .w = q.shape[2]},
                .groups = q.shape[1]};
  shape.operands = AttentionOperands(way.causal, way.drops);
  return One(call, OpKind::kAttention, pass, shape);
}

Launches RowSoftmax(const AskedCall& call, Pass pass) {
  const std::vector<std::int64_t> numbers = LeadingNumbers(call.of.scalars);
  const auto rows = numbers.empty() ? std::nullopt : RowsOf(call.Input(0), numbers[0]);
  if (!rows) return std::nullopt;
  OpShape shape = Alike(*rows);
  shape.window[0] = rows->c;
  return One(call, OpKind::kSoftmax, pass, shape);
}

// Rows of a table of `rows`, a token each. The features are the last axis of `of`.
Launches Rows(const AskedCall& call, Pass pass, const RecordedOperand& of, std::int64_t rows) {
  const auto map = MapOf(of);
  if (!map || of.shape.empty() || rows < 1) return std::nullopt;
  const std::int64_t features = of.shape.back(), tokens = map->Elements() / features;
  if (static_cast<double>(rows) * static_cast<double>(features) > 1e12) return std::nullopt;
  if (static_cast<double>(rows) * static_cast<double>(tokens) > 1e15) return std::nullopt;
  return One(call, OpKind::kEmbedding, pass, {.in = {.n = tokens, .c = rows}, .out = {.n = tokens, .c = features}});
}

Launches Resize(const AskedCall& call, Pass pass, const RecordedOperand& small, const RecordedOperand& large) {
  const auto in = MapOf(small), out = MapOf(large);
  const bool maps = small.shape.size() >= 3 && small.shape.size() <= 5 && small.shape.size() == large.shape.size();
  if (!in || !out || !maps || in->n != out->n || in->c != out->c) return std::nullopt;
  return One(call, OpKind::kResize, pass, {.in = *in, .out = *out});
}

}  // namespace

Launches LayerNormCall(const AskedCall& call) {
  return RowNorm(call, call.Input(0), WidthOf(call, call.Input(0)), Pass::kForward);
}
// Of (gradient, input, ...).
Launches LayerNormBackwardCall(const AskedCall& call) {
  if (call.inputs() < 2 || call.Input(0).shape != call.Input(1).shape) return std::nullopt;
  return RowNorm(call, call.Input(0), WidthOf(call, call.Input(0)), Pass::kBackward);
}
Launches GroupNormCall(const AskedCall& call) { return GroupNorm(call, call.Input(0), Pass::kForward); }
Launches GroupNormBackwardCall(const AskedCall& call) { return GroupNorm(call, call.Input(0), Pass::kBackward); }

Launches ManyProductsCall(const AskedCall& call) {
  const auto shape = call.inputs() == 2 ? MatricesOf(call.Input(0), call.Input(1)) : std::nullopt;
  return shape ? One(call, OpKind::kProduct, call.EitherPass(), *shape) : std::nullopt;
}
// (c, a, b): what is added to is read, too.
Launches ManyProductsAndSumCall(const AskedCall& call) {
  const auto shape = call.inputs() == 3 ? MatricesOf(call.Input(1), call.Input(2)) : std::nullopt;
  if (!shape) return std::nullopt;
  Launch launch = MadeLaunch(call, OpKind::kProduct, call.EitherPass(), *shape);
  launch.accumulate = MapOf(call.Input(0)) == shape->out;
  return std::vector<Launch>{launch};
}

Launches AttentionCall(const AskedCall& call) { return Attention(call, 0, Pass::kForward); }
Launches AttentionBackwardCall(const AskedCall& call) { return Attention(call, 1, Pass::kBackward); }

Launches SoftmaxCall(const AskedCall& call) { return RowSoftmax(call, Pass::kForward); }
Launches SoftmaxBackwardCall(const AskedCall& call) {
  if (call.inputs() != 2 || !AreAlike(call.Input(0), call.Input(1))) return std::nullopt;
  return RowSoftmax(call, Pass::kBackward);
}

// (table, tokens) -> rows.
Launches EmbeddingCall(const AskedCall& call) {
  const bool table = call.inputs() == 2 && call.Input(0).shape.size() == 2 && !call.of.outputs.empty();
  if (!table || call.of.outputs[0].shape.empty()) return std::nullopt;
  if (call.of.outputs[0].shape.back() != call.Input(0).shape[1]) return std::nullopt;
  return Rows(call, Pass::kForward, call.of.outputs[0], call.Input(0).shape[0]);
}
// (gradient, tokens) with the table's rows in front of the scalars.
Launches EmbeddingBackwardCall(const AskedCall& call) {
  const std::vector<std::int64_t> numbers = LeadingNumbers(call.of.scalars);
  if (call.inputs() != 2 || numbers.empty()) return std::nullopt;
  return Rows(call, Pass::kBackwardBias, call.Input(0), numbers[0]);
}

Launches ResizeCall(const AskedCall& call) {
  if (call.inputs() != 1 || call.of.outputs.empty()) return std::nullopt;
  return Resize(call, Pass::kForward, call.Input(0), call.of.outputs[0]);
}
Launches ResizeBackwardCall(const AskedCall& call) {
  if (call.inputs() != 1 || call.of.outputs.empty()) return std::nullopt;
  return Resize(call, Pass::kBackward, call.of.outputs[0], call.Input(0));
}

}  // namespace spillway
