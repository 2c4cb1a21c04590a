// Slices, padding, rolls, permutations, and other shapes for the same elements. Each is a copy: a tensor has one shape here.
#include <algorithm>
#include <string>
#include <vector>

#include "model/layers/rearrange.h"
#include "model/network/layer_kind.h"
#include "model/network/network_keys.h"

namespace spillway {
namespace {

SamplePlace SizesOf(const Shape& shape) { return {shape.c, shape.d, shape.h, shape.w}; }
Shape WithSizes(std::int64_t n, const SamplePlace& sizes) {
  return {.n = n, .c = sizes[0], .d = sizes[1], .h = sizes[2], .w = sizes[3]};
}

// ---- What of each kind its attributes say.

Rearrangement Sliced(const LayerAttributes& a) {
  Rearrangement r{.form = RearrangementForm::kStrided};
  r.begin[a.cut_axis] = a.begin;
  r.step[a.cut_axis] = a.step;
  return r;
}

Rearrangement Padded(const LayerAttributes& a) {
  return {.form = RearrangementForm::kStrided, .begin = {0, -a.pad[0], -a.pad[1], -a.pad[2]}};
}

Rearrangement Rolled(const LayerAttributes& a) { return {.form = RearrangementForm::kRolled, .shift = a.shift}; }
Rearrangement Permuted(const LayerAttributes& a) { return {.form = RearrangementForm::kPermuted, .order = a.order}; }
Rearrangement InOrder(const LayerAttributes&) { return {}; }

// ---- Shapes.

Shape InferSlice(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  SamplePlace sizes = SizesOf(inputs[0]);
  std::int64_t& size = sizes[a.cut_axis];
  const std::int64_t end = a.end == 0 ? size : a.end;
  if (end > size || a.begin >= end) {
    problem = std::string(kSampleAxisNames[a.cut_axis]) + " " + std::to_string(a.begin) + " to " + std::to_string(end) +
              " of " + std::to_string(size) + " cannot be cut out";
    return inputs[0];
  }
  size = (end - a.begin + a.step - 1) / a.step;
  return WithSizes(inputs[0].n, sizes);
}

Shape InferPad(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string&) {
  Shape shape = inputs[0];
  shape.d += a.pad[0] + a.PadAfter(0), shape.h += a.pad[1] + a.PadAfter(1), shape.w += a.pad[2] + a.PadAfter(2);
  return shape;
}

Shape InferPermute(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string&) {
  const SamplePlace sizes = SizesOf(inputs[0]);
  return WithSizes(inputs[0].n, {sizes[a.order[0]], sizes[a.order[1]], sizes[a.order[2]], sizes[a.order[3]]});
}

Shape InferReshape(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  const auto given = [](std::int64_t size) { return std::max<std::int64_t>(size, 1); };
  const Shape shape{
      .n = inputs[0].n, .c = a.out_channels, .d = given(a.image[0]), .h = given(a.image[1]), .w = given(a.image[2])};
  const bool large = ElementsAsGiven(shape) > kMaxElements;
  if (large || shape.Elements() != inputs[0].Elements()) {
    problem = "a shape of " + ShapeText(shape) + " has " +
              (large ? "more than 10^12" : std::to_string(shape.Elements())) + " elements, and " +
              ShapeText(inputs[0]) + " has " + std::to_string(inputs[0].Elements());
  }
  return shape;
}

Shape InferRoll(const LayerAttributes&, const std::vector<Shape>& inputs, std::string&) { return inputs[0]; }

template <Rearrangement (*kMove)(const LayerAttributes&)>
void Forward(StepWriter& b) {
  EmitRearranged(b, kMove(b.attributes()));
}
template <Rearrangement (*kMove)(const LayerAttributes&)>
void Backward(StepWriter& b) {
  EmitRearrangedBack(b, kMove(b.attributes()));
}

using InferShape = Shape (*)(const LayerAttributes&, const std::vector<Shape>&, std::string&);

template <Rearrangement (*kMove)(const LayerAttributes&)>
constexpr LayerKind Moving(const char* name, const char* description, std::uint64_t keys, std::uint64_t required,
                           InferShape infer) {
  return {.name = name,
          .description = description,
          .keys = keys,
          .required = required,
          .infer = infer,
          .forward = Forward<kMove>,
          .backward = Backward<kMove>};
}

}  // namespace

const LayerKind kSliceLayer = Moving<Sliced>("slice", "part of an axis: channels of a split, every other row",
                                             kAxisKey | kBeginKey | kEndKey | kStepKey, 0, InferSlice);
const LayerKind kReshapeLayer = Moving<InOrder>("reshape", "the same elements in the same order, in another shape",
                                                kOutKey | kReshapedKey, kOutKey | kReshapedKey, InferReshape);
const LayerKind kPermuteLayer =
    Moving<Permuted>("permute", "axes in another order", kOrderKey, kOrderKey, InferPermute);
const LayerKind kRollLayer =
    Moving<Rolled>("roll", "the image moved on; what leaves at one end comes in at the other", kShiftKey, 0, InferRoll);
const LayerKind kPadLayer = Moving<Padded>("pad", "zeros around the image", kPadKey | kPadAfterKey, 0, InferPad);

}  // namespace spillway
