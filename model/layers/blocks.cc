// Windows of an image as rows of positions, and pixels and channels shuffled.
//
//   windows of 2x2     a b | c d     row 0: a b e f       pixel_unshuffle: channels a e ... of the four places of a block
//                      e f | g h     row 1: c d g h       (patch merging takes these in another order of channels)
#include <string>
#include <vector>

#include "model/layers/rearrange.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

Rearrangement Windows(const LayerAttributes& a) { return {.form = RearrangementForm::kWindows, .block = a.window}; }
Rearrangement Merged(const LayerAttributes& a) {
  return {.form = RearrangementForm::kMergedWindows, .block = a.window};
}
Rearrangement PixelsOut(const LayerAttributes& a) { return {.form = RearrangementForm::kPixelsOut, .block = a.scale}; }
Rearrangement PixelsIn(const LayerAttributes& a) { return {.form = RearrangementForm::kPixelsIn, .block = a.scale}; }
Rearrangement Channels(const LayerAttributes& a) { return {.form = RearrangementForm::kChannels, .groups = a.groups}; }

Shape InferWindows(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  return InWindows(a.window, inputs[0], problem);
}

Shape InferMerged(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  Shape image = inputs[1];
  image.c = inputs[0].c;
  const Shape rows = InWindows(a.window, image, problem);
  if (problem.empty() && rows != inputs[0]) {
    problem = "windows of " + ExtentsText(a.window) + " of the image " + ShapeText(image) + " are " + ShapeText(rows) +
              ", and the input is " + ShapeText(inputs[0]);
  }
  return image;
}

std::int64_t BlockOf(const LayerAttributes& a) { return a.scale[0] * a.scale[1] * a.scale[2]; }

Shape InferPixelsOut(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  Shape shape = inputs[0];
  if (shape.c % BlockOf(a) != 0) {
    problem =
        "places of a block of " + ExtentsText(a.scale) + " do not divide " + std::to_string(shape.c) + " channels";
    return shape;
  }
  shape.c /= BlockOf(a), shape.d *= a.scale[0], shape.h *= a.scale[1], shape.w *= a.scale[2];
  return shape;
}

Shape InferPixelsIn(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  const Shape& in = inputs[0];
  if (in.d % a.scale[0] != 0 || in.h % a.scale[1] != 0 || in.w % a.scale[2] != 0) {
    problem = "blocks of " + ExtentsText(a.scale) + " do not divide the image of " + ShapeText(in);
    return in;
  }
  return {.n = in.n, .c = in.c * BlockOf(a), .d = in.d / a.scale[0], .h = in.h / a.scale[1], .w = in.w / a.scale[2]};
}

Shape InferChannels(const LayerAttributes& a, const std::vector<Shape>& inputs, std::string& problem) {
  if (inputs[0].c % a.groups != 0) {
    problem = std::to_string(a.groups) + " groups do not divide " + std::to_string(inputs[0].c) + " channels";
  }
  return inputs[0];
}

template <Rearrangement (*kMove)(const LayerAttributes&)>
void Forward(StepWriter& b) {
  EmitRearranged(b, kMove(b.attributes()));
}
template <Rearrangement (*kMove)(const LayerAttributes&)>
void Backward(StepWriter& b) {
  EmitRearrangedBack(b, kMove(b.attributes()));
}

}  // namespace

const LayerKind kWindowsLayer{
    .name = "windows",
    .description = "blocks of the image as rows of positions, which attention with the same `window` takes one by one",
    .keys = kBlockKey,
    .required = kBlockKey,
    .infer = InferWindows,
    .forward = Forward<Windows>,
    .backward = Backward<Windows>,
};

const LayerKind kMergeWindowsLayer{
    .name = "merge_windows",
    .description = "windows back into the image, of the size of the second layer",
    .min_inputs = 2,
    .max_inputs = 2,
    .data_inputs = 1,
    .keys = kBlockKey,
    .required = kBlockKey,
    .infer = InferMerged,
    .forward = Forward<Merged>,
    .backward = Backward<Merged>,
};

const LayerKind kPixelShuffleLayer{
    .name = "pixel_shuffle",
    .description = "channels as places of a larger image",
    .keys = kScaleKey,
    .infer = InferPixelsOut,
    .forward = Forward<PixelsOut>,
    .backward = Backward<PixelsOut>,
};

const LayerKind kPixelUnshuffleLayer{
    .name = "pixel_unshuffle",
    .description = "places of blocks as channels of a smaller image",
    .keys = kScaleKey,
    .infer = InferPixelsIn,
    .forward = Forward<PixelsIn>,
    .backward = Backward<PixelsIn>,
};

const LayerKind kChannelShuffleLayer{
    .name = "channel_shuffle",
    .description = "channels of the groups in turn",
    .keys = kGroupsKey,
    .infer = InferChannels,
    .forward = Forward<Channels>,
    .backward = Backward<Channels>,
};

}  // namespace spillway
