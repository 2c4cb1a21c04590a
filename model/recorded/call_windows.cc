// Pooling of a recording: windows that slide, and means over whole images.
#include <algorithm>

#include "model/recorded/call_rows.h"

namespace spillway {

namespace {

constexpr std::size_t kMostAxes = 3;  // of a window

Launches Pooling(const AskedCall& call, OpKind kind, Pass pass, const OpShape& shape) {
  return std::vector<Launch>{MadeLaunch(call, kind, pass, shape)};
}

// The window whose numbers stand in the scalars from their begin: its sizes, strides, paddings and, of maxima,
// dilations. A list of strides may be empty, and then is that of sizes; lists at the end may be missing.
std::optional<OpShape> WindowFrom(const std::vector<std::int64_t>& numbers, std::size_t axes, bool strides) {
  const auto at = [&](std::size_t list, std::size_t k, std::int64_t missing) {
    const std::size_t place = list * axes + k;
    return place < numbers.size() ? numbers[place] : missing;
  };
  OpShape shape;
  for (std::size_t k = 0; k < axes; ++k) {
    const std::size_t to = kMostAxes - axes + k, pads = strides ? 2 : 1;
    shape.window[to] = at(0, k, 0);
    shape.stride[to] = strides ? at(1, k, 0) : shape.window[to];
    shape.pad[to] = at(pads, k, 0);
    const bool sound = shape.pad[to].begin >= 0 && shape.pad[to].begin < std::max<std::int64_t>(1, shape.window[to]);
    if (!sound || at(pads + 1, k, 1) != 1) return std::nullopt;
  }
  return shape;
}

std::optional<OpShape> WindowOf(const AskedCall& call, const RecordedOperand& input, const RecordedOperand& result) {
  const auto in = MapOf(input), out = MapOf(result);
  const std::size_t rank = input.shape.size();
  if (!in || !out || rank < 3 || rank > kMostAxes + 2 || result.shape.size() != rank || in->c != out->c) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> numbers = LeadingNumbers(call.of.scalars);
  for (const bool strides : {true, false}) {
    auto shape = WindowFrom(numbers, rank - 2, strides);
    if (!shape || !SlidesTo(*in, *out, *shape, true)) continue;
    shape->in = *in;
    shape->out = *out;
    return shape;
  }
  return std::nullopt;
}

Launches PoolCall(const AskedCall& call, OpKind kind) {
  if (call.inputs() != 1 || call.of.outputs.empty()) return std::nullopt;
  const auto shape = WindowOf(call, call.Input(0), call.of.outputs[0]);
  return shape ? Pooling(call, kind, Pass::kForward, *shape) : std::nullopt;
}

// Of (gradient, input, ...).
Launches PoolBackwardCall(const AskedCall& call, OpKind kind) {
  if (call.inputs() < 2) return std::nullopt;
  const auto shape = WindowOf(call, call.Input(1), call.Input(0));
  return shape ? Pooling(call, kind, Pass::kBackward, *shape) : std::nullopt;
}

// Windows side by side that cover the image.
std::optional<OpShape> EvenWindows(const RecordedOperand& input, const RecordedOperand& result) {
  const auto in = MapOf(input), out = MapOf(result);
  if (!in || !out || input.shape.size() < 3 || result.shape.size() != input.shape.size()) return std::nullopt;
  if (in->n != out->n || in->c != out->c || in->d % out->d != 0 || in->h % out->h != 0 || in->w % out->w != 0) {
    return std::nullopt;
  }
  OpShape shape{.in = *in, .out = *out};
  shape.window = shape.stride = {in->d / out->d, in->h / out->h, in->w / out->w};
  return shape;
}

OpShape WholeImage(const Shape& in) {
  OpShape shape{.in = in, .out = {.n = in.n, .c = in.c}};
  shape.window = shape.stride = {in.d, in.h, in.w};
  return shape;
}

bool AreAllPlaces(std::vector<std::int64_t> axes, std::size_t rank) {
  for (std::int64_t& axis : axes) axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0;
  std::sort(axes.begin(), axes.end());
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] != static_cast<std::int64_t>(k) + 2) return false;
  }
  return rank > 3 && axes.size() + 2 == rank;
}

}  // namespace

Launches MaxPoolCall(const AskedCall& call) { return PoolCall(call, OpKind::kMaxPool); }
Launches MaxPoolBackwardCall(const AskedCall& call) { return PoolBackwardCall(call, OpKind::kMaxPool); }
Launches AveragePoolCall(const AskedCall& call) { return PoolCall(call, OpKind::kAveragePool); }
Launches AveragePoolBackwardCall(const AskedCall& call) { return PoolBackwardCall(call, OpKind::kAveragePool); }

Launches AdaptivePoolCall(const AskedCall& call) {
  if (call.inputs() != 1 || call.of.outputs.empty()) return std::nullopt;
  const auto shape = EvenWindows(call.Input(0), call.of.outputs[0]);
  return shape ? Pooling(call, OpKind::kAveragePool, Pass::kForward, *shape) : std::nullopt;
}

Launches AdaptivePoolBackwardCall(const AskedCall& call) {
  if (call.inputs() != 2) return std::nullopt;
  const auto shape = EvenWindows(call.Input(1), call.Input(0));
  return shape ? Pooling(call, OpKind::kAveragePool, Pass::kBackward, *shape) : std::nullopt;
}

Launches MeanCall(const AskedCall& call) {
  const auto in = MapOf(call.Input(0));
  const bool places = AreAllPlaces(LeadingNumbers(call.of.scalars), call.Input(0).shape.size());
  if (call.inputs() != 1 || !in || !places) return std::nullopt;
  return Pooling(call, OpKind::kAveragePool, Pass::kForward, WholeImage(*in));
}

// The gradient of a mean over all places is one number for each channel, divided. Others are divided by a number.
Launches DivideCall(const AskedCall& call) {
  const RecordedOperand& gradient = call.Input(0);
  const auto in = MapOf(gradient);
  const std::size_t rank = gradient.shape.size();
  const bool map = call.inputs() == 1 && in && call.of.pass == Pass::kBackward && rank > 3 && rank <= kMostAxes + 2;
  const bool expanded = map && gradient.strides.size() == rank &&
                        std::all_of(gradient.strides.begin() + 2, gradient.strides.end(),
                                    [](std::int64_t stride) { return stride == 0; });
  if (!expanded) return FactorsCall(call);
  return Pooling(call, OpKind::kAveragePool, Pass::kBackward, WholeImage(*in));
}

}  // namespace spillway
