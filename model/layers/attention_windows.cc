// What attention within windows needs beside its heads: which positions attend to each other, and what is added to their
// scores (Liu et al. 2021, arXiv 2103.14030, section 3.2).
#include <string>
#include <utility>

#include "model/layers/attention_ops.h"
#include "model/layers/rearrange.h"

namespace spillway {
namespace {

std::int64_t PositionsOf(const std::array<std::int64_t, 3>& window) { return window[0] * window[1] * window[2]; }

Shape ImageOf(const LayerAttributes& a) {
  const auto given = [](std::int64_t size) { return size > 0 ? size : 1; };
  return {.d = given(a.image[0]), .h = given(a.image[1]), .w = given(a.image[2])};
}

std::string ShiftProblem(const LayerAttributes& a, const Shape& input) {
  if (a.image == LayerAttributes{}.image) return "`shift` needs `image`, the size that the windows divide";
  for (std::size_t k = 0; k < 3; ++k) {
    if (a.shift[k] < 0 || (a.shift[k] > 0 && a.shift[k] >= a.window[k])) {
      return "a shift of " + ExtentsText(a.shift) + " is not within windows of " + ExtentsText(a.window);
    }
  }
  std::string problem;
  const Shape rows = InWindows(a.window, ImageOf(a), problem);
  if (problem.empty() && rows.h != input.d * input.h) {
    problem = "an image of " + ExtentsText(a.image) + " has " + std::to_string(rows.h) + " windows of " +
              ExtentsText(a.window) + ", and the input " + ShapeText(input) + " has " +
              std::to_string(input.d * input.h) + " rows";
  }
  return problem;
}

}  // namespace

bool InRows(const LayerAttributes& a) { return PositionsOf(a.window) > 1; }

WindowGrid GridOf(const LayerAttributes& a) {
  const Shape image = ImageOf(a);
  return {.window = a.window, .relative = a.relative, .image = {image.d, image.h, image.w}, .shift = a.shift};
}

std::string WindowProblem(const LayerAttributes& a, const std::vector<Shape>& inputs) {
  const WindowGrid grid = GridOf(a);
  if (!InRows(a)) return grid.HasTable() || grid.Shifted() ? "`relative` and `shift` go with `window`" : "";
  for (const Shape& input : inputs) {
    if (input.w == PositionsOf(a.window) && input.d == inputs[0].d && input.h == inputs[0].h) continue;
    return "rows of windows of " + ExtentsText(a.window) + " have " + std::to_string(PositionsOf(a.window)) +
           " positions, and " + ShapeText(input) + " has rows of " + std::to_string(input.w);
  }
  const auto is_known = [&](std::size_t k) { return a.window[k] <= a.relative[k]; };
  if (grid.HasTable() && !(is_known(0) && is_known(1) && is_known(2))) {
    return "`relative` of " + ExtentsText(a.relative) + " is less than windows of " + ExtentsText(a.window);
  }
  return grid.Shifted() ? ShiftProblem(a, inputs[0]) : "";
}

std::vector<ParameterShape> WindowParameters(const LayerAttributes& a, const Shape&) {
  const WindowGrid grid = GridOf(a);
  if (!grid.HasTable()) return {};
  return {{"relative", {.n = grid.Distances(), .c = a.heads}}};
}

Op ScoreBiasOp(const StepWriter& b, Pass pass, const Shape& scores, std::vector<TensorId> reads,
               std::vector<TensorId> writes) {
  Op op = b.NewOp(OpKind::kScoreBias, pass, std::move(reads), std::move(writes),
                  pass == Pass::kForward ? "bias" : "backward_bias");
  op.type = b.WideType();
  op.details.heads = SplitOf(b);
  op.details.windows = GridOf(b.attributes());
  op.shape = {.in = scores, .out = scores, .window = op.details.windows.relative};
  return op;
}

}  // namespace spillway
