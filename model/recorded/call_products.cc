// Convolutions and matrix products of a recording, and the gradients of their biases.
#include "model/recorded/call_rows.h"

namespace spillway {

namespace {

constexpr std::size_t kMostAxes = 3;  // of a window

// A convolution's shape and whether it is transposed.
struct Window {
  OpShape shape;
  bool transposed = false;
};

// (input, weight, ...) -> result, with the scalars up to `groups` at their end.
std::optional<Window> WindowOf(const RecordedOperand& input, const RecordedOperand& weight,
                               const RecordedOperand& result, ScalarsFromEnd& scalars) {
  const std::size_t rank = input.shape.size(), axes = rank - 2;
  if (rank < 3 || axes > kMostAxes || weight.shape.size() != rank || result.shape.size() != rank) return std::nullopt;
  Window of;
  OpShape& shape = of.shape;
  const auto each = [&](const auto& set) {
    for (std::size_t k = axes; k-- > 0;) set(kMostAxes - axes + k, scalars.Number());
  };
  bool added = false;
  shape.groups = scalars.Number();
  each([&](std::size_t, std::int64_t more) { added = added || more != 0; });  // rows of the result
  of.transposed = scalars.Flag();
  each([&](std::size_t k, std::int64_t dilation) { shape.dilation[k] = dilation; });
  each([&](std::size_t k, std::int64_t pad) { shape.pad[k] = pad; });
  each([&](std::size_t k, std::int64_t stride) { shape.stride[k] = stride; });
  if ((added && !of.transposed) || !scalars.good() || shape.groups < 1) return std::nullopt;
  for (std::size_t k = 0; k < axes; ++k) shape.window[kMostAxes - axes + k] = weight.shape[2 + k];
  return of;
}

// A transposed one is, exchanged, the convolution from its result to its input.
std::optional<Window> ConvolutionOf(const RecordedOperand& input, const RecordedOperand& weight,
                                    const RecordedOperand& result, ScalarsFromEnd& scalars) {
  auto of = WindowOf(input, weight, result, scalars);
  const auto in = MapOf(input), out = MapOf(result);
  if (!of || !in || !out || !MapOf(weight)) return std::nullopt;
  const Shape& from = of->transposed ? *out : *in;
  const Shape& to = of->transposed ? *in : *out;
  const std::int64_t groups = of->shape.groups;
  const bool slides = SlidesTo(from, to, of->shape, false) && from.c % groups == 0 && to.c % groups == 0;
  if (!slides || from.c / groups != weight.shape[1] || to.c != weight.shape[0]) return std::nullopt;
  of->shape.in = *in;
  of->shape.out = *out;
  return of;
}

OpKind KindOf(const Window& of) { return of.transposed ? OpKind::kTransposedConvolution : OpKind::kConvolution; }

Launch BiasOf(const AskedCall& call, Pass pass, const Shape& result) {
  return MadeLaunch(call, OpKind::kBias, pass, Alike(result));
}

// Whether the elements along the axis lie side by side in memory.
bool RunsAlong(const RecordedOperand& matrix, std::size_t axis) {
  return matrix.strides.size() == 2 ? matrix.strides[axis] == 1 : axis == 1;
}

bool IsMatrix(const RecordedOperand& operand) { return operand.shape.size() == 2 && MapOf(operand); }

// (m x k) by (k x n). The three passes of a linear layer differ in how many factors lie along the depth: both in
// forward, one for the gradient of the data, none for that of the weights. Of that pass is the law.
std::optional<Launch> ProductOf(const AskedCall& call, const RecordedOperand& a, const RecordedOperand& b) {
  if (!IsMatrix(a) || !IsMatrix(b) || a.shape[1] != b.shape[0]) return std::nullopt;
  const std::int64_t m = a.shape[0], k = a.shape[1], n = b.shape[1];
  const int along = (RunsAlong(a, 1) ? 1 : 0) + (RunsAlong(b, 0) ? 1 : 0);
  if (along == 2) {
    return MadeLaunch(call, OpKind::kLinear, Pass::kForward, {.in = {.n = m, .c = k}, .out = {.n = m, .c = n}});
  }
  if (along == 1) {
    return MadeLaunch(call, OpKind::kLinear, Pass::kBackwardData, {.in = {.n = m, .c = n}, .out = {.n = m, .c = k}});
  }
  return MadeLaunch(call, OpKind::kLinear, Pass::kBackwardFilter, {.in = {.n = k, .c = n}, .out = {.n = k, .c = m}});
}

bool IsVector(const RecordedOperand& operand, std::int64_t size) {
  return operand.shape.size() == 1 && operand.shape[0] == size;
}

}  // namespace

Launches ConvolutionCall(const AskedCall& call) {
  if (call.inputs() < 2 || call.inputs() > 3 || call.of.outputs.empty()) return std::nullopt;
  ScalarsFromEnd scalars(call.of.scalars);
  const auto of = ConvolutionOf(call.Input(0), call.Input(1), call.of.outputs[0], scalars);
  if (!of) return std::nullopt;
  std::vector<Launch> launches{MadeLaunch(call, KindOf(*of), Pass::kForward, of->shape)};
  if (call.inputs() == 3 && !IsVector(call.Input(2), of->shape.out.c)) return std::nullopt;
  if (call.inputs() == 3) launches.push_back(BiasOf(call, Pass::kForward, of->shape.out));
  return launches;
}

// Of (gradient, input, weight); the last scalars say which of three gradients are made.
Launches ConvolutionBackwardCall(const AskedCall& call) {
  if (call.inputs() != 3) return std::nullopt;
  ScalarsFromEnd scalars(call.of.scalars);
  const bool bias = scalars.Flag(), filter = scalars.Flag(), data = scalars.Flag();
  const auto of = ConvolutionOf(call.Input(1), call.Input(2), call.Input(0), scalars);
  if (!of) return std::nullopt;
  std::vector<Launch> launches;
  if (data) launches.push_back(MadeLaunch(call, KindOf(*of), Pass::kBackwardData, of->shape));
  if (filter) launches.push_back(MadeLaunch(call, KindOf(*of), Pass::kBackwardFilter, of->shape));
  if (bias) launches.push_back(BiasOf(call, Pass::kBackwardBias, of->shape.out));
  if (launches.empty()) return std::nullopt;
  return launches;
}

Launches ProductCall(const AskedCall& call) {
  if (call.inputs() != 2) return std::nullopt;
  const auto launch = ProductOf(call, call.Input(0), call.Input(1));
  if (!launch) return std::nullopt;
  return std::vector<Launch>{*launch};
}

// (c, a, b): a bias is a vector, and added by a pass of its own; a matrix is added to.
Launches ProductAndSumCall(const AskedCall& call) {
  if (call.inputs() != 3) return std::nullopt;
  auto launch = ProductOf(call, call.Input(1), call.Input(2));
  if (!launch) return std::nullopt;
  const Shape result{.n = call.Input(1).shape[0], .c = call.Input(2).shape[1]};
  if (IsVector(call.Input(0), result.c)) return std::vector<Launch>{*launch, BiasOf(call, Pass::kForward, result)};
  if (MapOf(call.Input(0)) != result) return std::nullopt;
  launch->accumulate = true;
  return std::vector<Launch>{*launch};
}

// (x, weight, bias) with all but the last axis of x as samples.
Launches LinearCall(const AskedCall& call) {
  if (call.inputs() < 2 || call.inputs() > 3) return std::nullopt;
  const RecordedOperand& x = call.Input(0);
  const RecordedOperand& weight = call.Input(1);
  const auto rows = RowsOf(x, -1);
  if (!rows || !IsMatrix(weight)) return std::nullopt;
  const std::int64_t in = x.shape.back(), out = weight.shape[0], samples = rows->Elements() / in;
  if (weight.shape[1] != in) return std::nullopt;
  const OpShape shape{.in = {.n = samples, .c = in}, .out = {.n = samples, .c = out}};
  std::vector<Launch> launches{MadeLaunch(call, OpKind::kLinear, Pass::kForward, shape)};
  if (call.inputs() == 3 && !IsVector(call.Input(2), out)) return std::nullopt;
  if (call.inputs() == 3) launches.push_back(BiasOf(call, Pass::kForward, shape.out));
  return launches;
}

Launches BiasGradientCall(const AskedCall& call) {
  const auto in = MapOf(call.Input(0));
  const bool sums =
      call.of.pass == Pass::kBackward && AreAllButChannels(LeadingNumbers(call.of.scalars), call.Input(0).shape.size());
  if (call.inputs() != 1 || !in || !sums) return std::nullopt;
  return std::vector<Launch>{BiasOf(call, Pass::kBackwardBias, *in)};
}

}  // namespace spillway
