// Layers of networks from image to image: dilated and one-sided windows, transposed convolutions, resizing and cropping,
// and several losses.
#include <catch2/catch.hpp>
#include <set>

#include "hw/text/document.h"
#include "model/cost/op_tiles.h"
#include "model/network/layer_kind.h"
#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"

namespace spillway {
namespace {

constexpr Shape kImage{.n = 2, .c = 4, .h = 8, .w = 10};

Shape Infer(const char* kind, const LayerAttributes& attributes, const std::vector<Shape>& inputs) {
  std::string problem;
  const Shape shape = LayerKindByName(kind).infer(attributes, inputs, problem);
  CHECK(problem.empty());
  return shape;
}

std::string Problem(const char* kind, const LayerAttributes& attributes, const std::vector<Shape>& inputs = {kImage}) {
  std::string problem;
  LayerKindByName(kind).infer(attributes, inputs, problem);
  return problem;
}

LayerAttributes Image(std::int64_t height, std::int64_t width) {
  LayerAttributes attributes;
  attributes.image = {0, height, width};
  return attributes;
}

LayerAttributes Scale(std::int64_t scale) {
  LayerAttributes attributes;
  attributes.scale = {1, scale, scale};
  return attributes;
}

const Op& Named(const TrainingStep& step, const std::string& name) {
  for (const Op& op : step.ops) {
    if (op.name == name) return op;
  }
  FAIL("no op " << name);
  return step.ops[0];
}

std::vector<std::string> Names(const TrainingStep& step, const std::vector<TensorId>& ids) {
  std::vector<std::string> names;
  for (const TensorId id : ids) names.push_back(step.tensors[static_cast<std::size_t>(id)].name);
  return names;
}
using Texts = std::vector<std::string>;

// A file of one network, read.
Network Read(const std::string& layers) {
  const std::string text = "name: n\ninput: {channels: 4, height: 8, width: 10}\nlayers:\n" + layers;
  const Document document = ParseDocument(text, "net.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, 2);
  diagnostics.ThrowIfAny();
  return network;
}

}  // namespace

TEST_CASE("a dilated window reaches as far as its outermost elements") {
  LayerAttributes a = Square(6, 3);
  a.dilation = {1, 2, 3};
  CHECK(Infer("convolution", a, {kImage}) == Shape{.n = 2, .c = 6, .h = 4, .w = 4});  // 8 - 5 + 1, 10 - 7 + 1
  a.pad = {0, 2, 3};
  CHECK(Infer("convolution", a, {kImage}) == Shape{.n = 2, .c = 6, .h = 8, .w = 10});
  a.pad = {0, 0, 0};
  a.dilation = {1, 1, 5};
  CHECK(Problem("convolution", a) == "the window's width 11 exceeds the padded input's 10");
}

TEST_CASE("padding behind the image alone") {
  LayerAttributes a = Square(6, 3, 2);
  a.pad_after = {-1, 1, 1};
  CHECK(Infer("convolution", a, {kImage}) == Shape{.n = 2, .c = 6, .h = 4, .w = 5});  // (8 + 1 - 3) / 2 + 1
  NetworkBuilder b("padded", kImage);
  const TrainingStep step = BuildTrainingStep(b.Loss(b.Convolution("conv", kNetworkInput, a)));
  CHECK(Named(step, "conv:forward").shape.pad == std::array<Padding, 3>{Padding(0), Padding(0, 1), Padding(0, 1)});
}

TEST_CASE("a transposed convolution gives back the size that its convolution halves") {
  LayerAttributes up = Square(3, 2, 2);
  CHECK(Infer("transposed_convolution", up, {kImage}) == Shape{.n = 2, .c = 3, .h = 16, .w = 20});
  up = Square(3, 3, 2, 1);
  CHECK(Infer("transposed_convolution", up, {kImage}) == Shape{.n = 2, .c = 3, .h = 15, .w = 19});
  up.output_pad = {0, 1, 0};
  CHECK(Infer("transposed_convolution", up, {kImage}) == Shape{.n = 2, .c = 3, .h = 16, .w = 19});
  LayerAttributes video = Square(3, 2, 2);
  video.window[0] = video.stride[0] = 2;
  CHECK(Infer("transposed_convolution", video, {{.n = 1, .c = 4, .d = 3, .h = 3, .w = 3}}) ==
        Shape{.n = 1, .c = 3, .d = 6, .h = 6, .w = 6});
}

TEST_CASE("a transposed convolution's weight has the input's channels in front") {
  LayerAttributes up = WithBias(Square(6, 2, 2));
  up.groups = 2;
  const auto parameters = LayerKindByName("transposed_convolution").parameters(up, kImage);
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0].shape == Shape{.n = 4, .c = 3, .h = 2, .w = 2});
  CHECK(parameters[1].shape == Shape{.n = 1, .c = 6});
}

TEST_CASE("a transposed convolution's ops have the operands of the convolution that computes them") {
  NetworkBuilder b("up", kImage);
  const LayerId stem = b.Convolution("stem", kNetworkInput, Square(4, 1));
  const TrainingStep step = BuildTrainingStep(b.Loss(b.UpConvolution("up", stem, Square(3, 2))));
  CHECK(Names(step, Named(step, "up:forward").reads) == Texts{"up:weight", "stem"});
  CHECK(Names(step, Named(step, "up:backward_data").reads) == Texts{"up:gradient", "up:weight"});
  CHECK(Names(step, Named(step, "up:backward_filter").reads) == Texts{"up:gradient", "stem"});
  CHECK(Names(step, step.maps) == Texts{"input", "stem"});
  CHECK(Named(step, "up:forward").pass == Pass::kForward);
}

TEST_CASE("resizing and cropping take their size from a scale, an image or another layer, and save nothing") {
  const Shape small{.n = 2, .c = 9, .h = 3, .w = 4};
  CHECK(Infer("resize", Scale(2), {kImage}) == Shape{.n = 2, .c = 4, .h = 16, .w = 20});
  CHECK(Infer("resize", Image(5, 30), {kImage}) == Shape{.n = 2, .c = 4, .h = 5, .w = 30});
  CHECK(Infer("resize", {}, {kImage, small}) == Shape{.n = 2, .c = 4, .h = 3, .w = 4});
  CHECK(Infer("crop", {}, {kImage, small}) == Shape{.n = 2, .c = 4, .h = 3, .w = 4});
  CHECK(Infer("crop", Image(7, 10), {kImage}) == Shape{.n = 2, .c = 4, .h = 7, .w = 10});
  NetworkBuilder b("image", kImage);
  const LayerId stem = b.Convolution("stem", kNetworkInput, Square(4, 1));
  const LayerId cut = b.Add("cut", "crop", {b.Add("large", "resize", {stem}, Scale(3))}, Image(7, 9));
  const TrainingStep step = BuildTrainingStep(b.Loss(cut));
  CHECK(Names(step, step.maps) == Texts{"input"});
  // 24 x 30 to 7 x 9, from the middle, nearer to the beginning.
  const OpSlice& slice = Named(step, "cut:forward").details.slices.at(0);
  CHECK(slice.box.begin == std::array<std::int64_t, 5>{0, 0, 0, 8, 10});
  CHECK(slice.box.Shape() == Shape{.n = 2, .c = 4, .h = 7, .w = 9});
}

TEST_CASE("a layer of which only the shape is taken gets no gradient from there") {
  NetworkBuilder b("like", kImage);
  const LayerId one = b.Convolution("one", kNetworkInput, Square(4, 1));
  const LayerId two = b.Convolution("two", kNetworkInput, Square(3, 3));
  const LayerId cut = b.Add("cut", "crop", {one, two});
  const TrainingStep step = BuildTrainingStep(b.Loss(b.Concat("join", {cut, two})));
  CHECK(Names(step, Named(step, "cut:forward").reads) == Texts{"one"});
  CHECK(Names(step, Named(step, "cut:backward").writes) == Texts{"one:gradient"});
}

TEST_CASE("what does not fit an image is explained") {
  LayerAttributes up = Square(3, 3, 2);
  up.output_pad = {0, 0, 2};
  CHECK(Problem("transposed_convolution", up) == "output_pad 2 must be less than the width's stride 2");
  CHECK(Problem("transposed_convolution", Square(3, 3, 1, 6)) == "padding 6 cuts off all of the result's width 12");
  LayerAttributes grouped = Square(8, 2, 2);
  grouped.groups = 3;
  CHECK(Problem("transposed_convolution", grouped) == "3 groups do not divide 4 input and 8 output channels");
  CHECK(Problem("resize", {}) == "resize has no size: give `scale`, `image`, or a second layer in `from`");
  CHECK(Problem("crop", {}) == "crop has no size: give `image`, or a second layer in `from`");
  LayerAttributes both = Scale(2);
  both.image = {0, 4, 4};
  CHECK(Problem("resize", both) == "resize is given its size in more than one way");
  CHECK(Problem("crop", Image(9, 9)) == "cannot crop 2x4x8x10 to 2x4x9x9");
}

TEST_CASE("a network from image to image, as a user writes it") {
  const Network network = Read(
      "  - {name: down, kind: convolution, out: 8, window: 3, pad: 2, dilation: 2}\n"
      "  - {name: half, kind: max_pool, window: 2, stride: 2}\n"
      "  - {name: up, kind: transposed_convolution, out: 6, window: 2, stride: 2, bias: true}\n"
      "  - {name: skip, kind: crop, from: [down, up]}\n"
      "  - {name: join, kind: concat, from: [skip, up]}\n"
      "  - {name: head, kind: convolution, out: 3, window: 2, pad: 0, pad_after: 1}\n"
      "  - {name: loss, kind: softmax_loss}\n"
      "  - {name: low, kind: convolution, from: half, out: 3, window: 1}\n"
      "  - {name: low_resized, kind: resize, scale: 2, method: linear}\n"
      "  - {name: low_loss, kind: softmax_loss, weight: 0.5}\n");
  CHECK(network.layers[4].shape == Shape{.n = 2, .c = 14, .h = 8, .w = 10});
  CHECK(network.layers[6].shape == Shape{.n = 2, .c = 3, .h = 8, .w = 10});
  const TrainingStep step = BuildTrainingStep(network);
  CHECK(Named(step, "loss:forward").details.loss_weight == 1);
  CHECK(Named(step, "low_loss:forward").details.loss_weight == 0.5);
  CHECK(Named(step, "low_loss:backward").details.loss_weight == 0.5);
  CHECK(Named(step, "low_resized:forward").details.linear);
  CHECK(step.IsForward(static_cast<OpId>(step.first_backward - 1)));
  CHECK_FALSE(step.IsForward(step.first_backward));
  // What both heads read gets the sum of what they send back.
  CHECK(Named(step, "up:backward_data").accumulate != Named(step, "low:backward_data").accumulate);
}

TEST_CASE("wrong values of the new keys have places") {
  CHECK_THROWS_WITH(Read("  - {name: a, kind: resize, scale: 0}\n  - {name: l, kind: softmax_loss}\n"),
                    Catch::Contains("net.yaml:4:36") && Catch::Contains("scale: expected a whole number between 1"));
  CHECK_THROWS_WITH(Read("  - {name: a, kind: resize, scale: 2, method: cubic}\n  - {name: l, kind: softmax_loss}\n"),
                    Catch::Contains("nearest") && Catch::Contains("linear"));
  CHECK_THROWS_WITH(Read("  - {name: l, kind: softmax_loss, weight: -1}\n"), Catch::Contains("weight"));
  CHECK_THROWS_WITH(Read("  - {name: a, kind: upsample, scale: 2}\n  - {name: l, kind: softmax_loss}\n"),
                    Catch::Contains("unknown layer kind 'upsample'"));
}

// Against a count row by row.
TEST_CASE("rows that windows with holes read") {
  for (std::int64_t height = 5; height < 14; ++height) {
    for (std::int64_t window = 2; window < 5; ++window) {
      for (std::int64_t stride = 1; stride < 5; ++stride) {
        for (std::int64_t dilation = 2; dilation < 5; ++dilation) {
          for (std::int64_t pad = 0; pad < 4; ++pad) {
            const std::int64_t span = height + 2 * pad - (dilation * (window - 1) + 1);
            if (span < 0) continue;
            OpShape shape{.in = {.h = height}, .out = {.h = span / stride + 1}};
            shape.window[1] = window, shape.stride[1] = stride, shape.dilation[1] = dilation, shape.pad[1] = pad;
            std::set<std::int64_t> rows;
            for (std::int64_t out = 0; out < shape.out.h; ++out) {
              for (std::int64_t tap = 0; tap < window; ++tap) {
                const std::int64_t row = out * stride - pad + tap * dilation;
                if (row >= 0 && row < height) rows.insert(row);
              }
            }
            CHECK(RowsRead(shape, OpKind::kConvolution) == static_cast<std::int64_t>(rows.size()));
          }
        }
      }
    }
  }
}

}  // namespace spillway
