// Layers that move elements: where each comes from, shapes, what does not fit; attention within windows; further inputs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "model/network/layer_kind.h"
#include "model/network/network.h"
#include "model/step/rearrangement.h"
#include "model/step/window_grid.h"
#include "model/unroll/unroll.h"
#include "tests/saved_bytes.h"
#include "tests/window_networks.h"

namespace spillway {
namespace {

using Sources = std::vector<std::int64_t>;

Network Read(const std::string& text) {
  const Document document = ParseDocument(text, "net.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, 2);
  diagnostics.ThrowIfAny();
  return network;
}

std::string WithLayers(const std::string& layers) {
  return "name: n\ninput: {channels: 4, height: 4, width: 6}\nlayers:\n" + layers +
         "  - {name: loss, kind: softmax_loss}\n";
}

// First lines of the messages.
std::string NetworkComplaints(const std::string& network) {
  std::string lines;
  try {
    Read(network);
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) lines += message.substr(0, message.find('\n')) + "\n";
  }
  return lines;
}
std::string Complaints(const std::string& layers) { return NetworkComplaints(WithLayers(layers)); }

Shape ShapeOf(const std::string& layers) {
  const Network network = Read(WithLayers(layers));
  return network.layers[network.layers.size() - 2].shape;
}

}  // namespace

TEST_CASE("where elements come from") {
  const Shape image{.h = 2, .w = 4};
  CHECK(SourcesOf({.form = RearrangementForm::kWindows, .block = {1, 2, 2}}, image, {.h = 2, .w = 4}) ==
        Sources{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(SourcesOf({.form = RearrangementForm::kMergedWindows, .block = {1, 2, 2}}, {.h = 2, .w = 4}, image) ==
        Sources{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(SourcesOf({.form = RearrangementForm::kRolled, .shift = {0, 0, -1}}, image, image) ==
        Sources{1, 2, 3, 0, 5, 6, 7, 4});
  CHECK(SourcesOf({.form = RearrangementForm::kRolled, .shift = {0, 3, 1}}, image, image) ==
        Sources{7, 4, 5, 6, 3, 0, 1, 2});
  CHECK(SourcesOf({.form = RearrangementForm::kStrided, .begin = {0, 0, 0, -1}}, image, {.h = 2, .w = 6}) ==
        Sources{-1, 0, 1, 2, 3, -1, -1, 4, 5, 6, 7, -1});
  CHECK(SourcesOf({.form = RearrangementForm::kStrided, .begin = {0, 0, 0, 1}, .step = {1, 1, 1, 2}}, image,
                  {.h = 2, .w = 2}) == Sources{1, 3, 5, 7});
  CHECK(SourcesOf({.form = RearrangementForm::kPixelsIn, .block = {1, 2, 2}}, image, {.c = 4, .w = 2}) ==
        Sources{0, 2, 1, 3, 4, 6, 5, 7});
  CHECK(SourcesOf({.form = RearrangementForm::kPixelsOut, .block = {1, 2, 2}}, {.c = 4, .w = 2}, image) ==
        Sources{0, 2, 1, 3, 4, 6, 5, 7});
  CHECK(SourcesOf({.form = RearrangementForm::kChannels, .groups = 2}, {.c = 6}, {.c = 6}) ==
        Sources{0, 3, 1, 4, 2, 5});
  CHECK(SourcesOf({.form = RearrangementForm::kPermuted, .order = {3, 1, 2, 0}}, image, {.c = 4, .h = 2}) ==
        Sources{0, 4, 1, 5, 2, 6, 3, 7});
}

TEST_CASE("rows of the table of distances, and regions of a shifted image") {
  const WindowGrid grid{.window = {1, 1, 2}, .relative = {1, 1, 2}, .image = {1, 1, 6}, .shift = {0, 0, 1}};
  CHECK(RelativeRows(grid, 2) == Sources{1, 0, 2, 1});
  CHECK(RegionsOf(grid) == std::vector<int>{0, 0, 0, 0, 1, 2});
  CHECK(grid.Distances() == 3);
  CHECK(RegionsOf({.window = {1, 1, 2}, .image = {1, 1, 6}}).empty());
  // A window smaller than the table's: places of the table's, in row-major order.
  CHECK(RelativeRows({.window = {1, 2, 1}, .relative = {1, 2, 2}}, 2) == Sources{4, 3, 5, 4});
}

TEST_CASE("shapes of what is moved, from YAML") {
  CHECK(ShapeOf("  - {name: a, kind: slice, begin: 1, end: 3}\n") == Shape{.n = 2, .c = 2, .h = 4, .w = 6});
  CHECK(ShapeOf("  - {name: a, kind: slice, axis: width, begin: 1, step: 2}\n") ==
        Shape{.n = 2, .c = 4, .h = 4, .w = 3});
  CHECK(ShapeOf("  - {name: a, kind: reshape, out: 8, image: [2, 6]}\n") == Shape{.n = 2, .c = 8, .h = 2, .w = 6});
  CHECK(ShapeOf("  - {name: a, kind: permute, order: [width, channels, height]}\n") ==
        Shape{.n = 2, .c = 6, .h = 4, .w = 4});
  CHECK(ShapeOf("  - {name: a, kind: pad, pad: [0, 1], pad_after: [2, 0]}\n") == Shape{.n = 2, .c = 4, .h = 6, .w = 7});
  CHECK(ShapeOf("  - {name: a, kind: roll, shift: [-1, 2]}\n") == Shape{.n = 2, .c = 4, .h = 4, .w = 6});
  CHECK(ShapeOf("  - {name: a, kind: windows, window: [2, 3]}\n") == Shape{.n = 2, .c = 4, .h = 4, .w = 6});
  CHECK(ShapeOf("  - {name: a, kind: windows, window: 2}\n  - {name: b, kind: merge_windows, window: 2, from: [a, "
                "input]}\n") == Shape{.n = 2, .c = 4, .h = 4, .w = 6});
  CHECK(ShapeOf("  - {name: a, kind: pixel_shuffle, scale: 2}\n") == Shape{.n = 2, .c = 1, .h = 8, .w = 12});
  CHECK(ShapeOf("  - {name: a, kind: pixel_unshuffle, scale: 2}\n") == Shape{.n = 2, .c = 16, .h = 2, .w = 3});
  CHECK(ShapeOf("  - {name: a, kind: crop, image: [2, 2], at: start}\n") == Shape{.n = 2, .c = 4, .h = 2, .w = 2});
  CHECK(ShapeOf("  - {name: t, kind: input, out: 4}\n  - {name: a, kind: add, from: [input, t]}\n") ==
        Shape{.n = 2, .c = 4, .h = 4, .w = 6});
}

TEST_CASE("what does not fit is explained with both shapes") {
  CHECK(Complaints("  - {name: a, kind: windows, window: [3, 3]}\n") ==
        "net.yaml:4:5: error: layer 'a': windows of 3x3 do not divide the image of 2x4x4x6; a pad layer in front makes "
        "it "
        "larger (input 2x4x4x6)\n");
  CHECK_THAT(
      Complaints("  - {name: a, kind: windows, window: 2}\n"
                 "  - {name: b, kind: merge_windows, window: [1, 2], from: [a, input]}\n"),
      Catch::Contains("windows of 1x2 of the image 2x4x4x6 are 2x4x12x2, and the input is 2x4x6x4 (input a 2x4x6x4"));
  CHECK_THAT(Complaints("  - {name: a, kind: slice, begin: 1, end: 5}\n"),
             Catch::Contains("channels 1 to 5 of 4 cannot be cut out (input 2x4x4x6)"));
  CHECK_THAT(Complaints("  - {name: a, kind: reshape, out: 8, image: 2}\n"),
             Catch::Contains("a shape of 2x8x2x2 has 64 elements, and 2x4x4x6 has 192"));
  CHECK_THAT(Complaints("  - {name: a, kind: channel_shuffle, groups: 3}\n"),
             Catch::Contains("3 groups do not divide 4 channels"));
  CHECK_THAT(Complaints("  - {name: a, kind: pixel_shuffle, scale: 3}\n"),
             Catch::Contains("places of a block of 3x3 do not divide 4 channels"));
  CHECK_THAT(Complaints("  - {name: a, kind: pixel_unshuffle, scale: 4}\n"),
             Catch::Contains("blocks of 4x4 do not divide the image of 2x4x4x6"));
  CHECK_THAT(Complaints("  - {name: a, kind: permute, order: [channels, width]}\n"),
             Catch::Contains("expected channels, height and width, and depth where there is one, each once"));
  CHECK_THAT(Complaints("  - {name: t, kind: input, out: 3}\n  - {name: a, kind: add, from: [input, t]}\n"),
             Catch::Contains("inputs to be added differ in shape: 2x4x4x6 and 2x3x1x1"));
}

TEST_CASE("sizes that no integer holds are refused before anything is computed with them") {
  CHECK_THAT(
      Complaints("  - {name: a, kind: reshape, out: 16777216, image: [1048576, 1048576]}\n"),
      Catch::Contains("a shape of 2x16777216x1048576x1048576 has more than 10^12 elements, and 2x4x4x6 has 192"));
  CHECK_THAT(Complaints("  - {name: a, kind: pixel_unshuffle, scale: [1048576, 1048576, 1048576]}\n"),
             Catch::Contains("blocks of 1048576x1048576x1048576 do not divide the image"));
  CHECK_THAT(Complaints("  - {name: a, kind: pixel_shuffle, scale: [1048576, 1048576, 1048576]}\n"),
             Catch::Contains("do not divide 4 channels"));
  CHECK_THAT(Complaints("  - {name: a, kind: windows, window: [1048576, 1048576, 1048576]}\n"),
             Catch::Contains("windows of 1048576x1048576x1048576 do not divide the image"));
}

TEST_CASE("scores of attention are tensors: too large ones are refused") {
  const auto attention = [](const std::string& image, const std::string& layers) {
    return NetworkComplaints("name: n\ninput: {channels: 3, " + image + "}\nlayers:\n" + layers +
                             "  - {name: loss, kind: softmax_loss}\n");
  };
  CHECK(attention("height: 262144, width: 262144",
                  "  - {name: w, kind: windows, window: 262144}\n"
                  "  - {name: a, kind: attention, heads: 1, window: 262144}\n") ==
        "net.yaml:5:5: error: layer 'a': scores of 2x1x68719476736x68719476736: too large (input "
        "2x3x1x68719476736)\n");
  const std::string large = "height: 65536, width: 32768", middle = "height: 1024, width: 1024";
  CHECK_THAT(attention(large, "  - {name: a, kind: attention, heads: 1, fused: false}\n"),
             Catch::Contains("net.yaml:4:5: error: layer 'a': scores of 2x1x2147483648x2147483648: too large"));
  CHECK_THAT(attention(large, "  - {name: a, kind: attention, heads: 1}\n"), Catch::Contains("too large"));
  // Fused attention keeps no scores.
  CHECK(attention(middle, "  - {name: a, kind: attention, heads: 1}\n").empty());
  CHECK_THAT(attention(middle, "  - {name: a, kind: attention, heads: 1, fused: false}\n"),
             Catch::Contains("scores of 2x1x1048576x1048576: too large"));
}

TEST_CASE("mistakes in an order of axes") {
  const auto order = [](const std::string& axes) {
    return Complaints("  - {name: a, kind: permute, order: " + axes + "}\n");
  };
  CHECK(order("[channels, hieght, width]") ==
        "net.yaml:4:37: error: order: no axis is named 'hieght'; did you mean 'height'?\n");
  CHECK(order("width") == "net.yaml:4:37: error: order: expected a list, found a single value\n");
  CHECK(order("[channels, [height], width]") == "net.yaml:4:48: error: order: expected a text, found a list\n");
  CHECK_THAT(order("[channels, height, height]"), Catch::Contains("each once"));
}

TEST_CASE("right behind a further input, a layer names what it reads") {
  CHECK(Complaints("  - {name: t, kind: input, out: 4}\n  - {name: u, kind: input, out: 4}\n"
                   "  - {name: a, kind: relu}\n") ==
        "net.yaml:6:5: error: layer 'a' stands right behind 'u', an input: give `from`, the layers that it reads\n");
  CHECK(Complaints("  - {name: t, kind: input, out: 4}\n  - {name: u, kind: input, out: 4}\n"
                   "  - {name: a, kind: add, from: [input, t]}\n  - {name: b, kind: add, from: [a, u]}\n")
            .empty());
  CHECK_THAT(Complaints("  - {name: t, kind: input, out: 4}\n  - {name: a, kind: relu, from: t}\n"),
             Catch::Contains("net.yaml:1:1: error: no layer reads the network's input"));
}

TEST_CASE("attention within windows names what does not fit") {
  const auto attention = [](const std::string& keys) {
    return Complaints(
        "  - {name: w, kind: windows, window: 2}\n  - {name: q, kind: linear, pointwise: true, out: 12}\n"
        "  - {name: a, kind: attention, heads: 2, " +
        keys + "}\n");
  };
  CHECK(attention("window: 2, relative: 2, shift: 1, image: [4, 6]").empty());
  CHECK_THAT(attention("window: [2, 3]"),
             Catch::Contains("rows of windows of 2x3 have 6 positions, and 2x12x6x4 has rows of 4"));
  CHECK_THAT(attention("relative: 2"), Catch::Contains("`relative` and `shift` go with `window`"));
  CHECK_THAT(attention("window: 2, relative: [1, 3]"),
             Catch::Contains("`relative` of 1x3 is less than windows of 2x2"));
  CHECK_THAT(attention("window: 2, relative: [1, 4]"),
             Catch::Contains("`relative` of 1x4 is less than windows of 2x2"));
  CHECK(attention("window: 2, relative: [2, 3]").empty());
  CHECK_THAT(attention("window: 2, image: [4, 6]"), Catch::Contains("net.yaml:6:60: error: 'image' without 'shift'"));
  CHECK_THAT(attention("window: 2, fused: true"),
             Catch::Contains("net.yaml:6:60: error: 'fused: true' besides 'window'"));
  CHECK(attention("window: 2, fused: false").empty());
  CHECK_THAT(attention("window: 2, shift: -1, image: [4, 6]"),
             Catch::Contains("shift: expected a whole number between 0 and 1048576, found '-1'"));
  CHECK_THAT(attention("window: 2, shift: 1"), Catch::Contains("`shift` needs `image`"));
  CHECK_THAT(attention("window: 2, shift: 2, image: [4, 6]"),
             Catch::Contains("a shift of 2x2 is not within windows of 2x2"));
  CHECK_THAT(attention("window: 2, shift: 1, image: [4, 4]"),
             Catch::Contains("an image of 4x4 has 4 windows of 2x2, and the input 2x12x6x4 has 6 rows"));
}

TEST_CASE("scores of windows, their table and what they keep") {
  const Network network = TinySwin();
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  const auto tensor = [&](const std::string& name) {
    const auto found =
        std::find_if(step.tensors.begin(), step.tensors.end(), [&](const Tensor& t) { return t.name == name; });
    REQUIRE(found != step.tensors.end());
    return *found;
  };
  // 5 x 7 becomes 6 x 9: six windows of 9 positions.
  CHECK(tensor("a_attention:probabilities").shape == Shape{.n = 4, .c = 2, .d = 6, .h = 9, .w = 9});
  CHECK(tensor("a_attention:probabilities").use == TensorClass::kFeatureMap);
  CHECK(tensor("a_attention:biased").use == TensorClass::kTransient);
  CHECK(tensor("a_attention:relative").shape == Shape{.n = 25, .c = 2});
  const auto op =
      std::find_if(step.ops.begin(), step.ops.end(), [](const Op& o) { return o.name == "a_attention:scores"; });
  REQUIRE(op != step.ops.end());
  CHECK(op->work.flops == 2.0 * 4 * 2 * 6 * 9 * 9 * 2);
}

TEST_CASE("two blocks of shifted windows from a file") {
  const Network network = LoadNetwork(std::string(SPILLWAY_SOURCE_DIR) + "/model/networks/windows.yaml", 2);
  const auto attention = std::find_if(network.layers.begin(), network.layers.end(),
                                      [](const Layer& layer) { return layer.name == "attention2"; });
  REQUIRE(attention != network.layers.end());
  CHECK(attention->shape == Shape{.n = 2, .c = 64, .h = 16, .w = 16});
  CHECK(LayerParameters(network, *attention)[0].shape == Shape{.n = 49, .c = 4});
  CHECK(!BuildTrainingStep(network).ops.empty());
}

TEST_CASE("a further input is the step's, and is kept where a weight's gradient reads it") {
  const TrainingStep step = BuildTrainingStep(Conditioned(), StepOptionsByName("torch-2"));
  std::vector<std::string> inputs;
  for (const TensorId t : step.maps) {
    const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
    if (tensor.use == TensorClass::kInput) inputs.push_back(tensor.name);
  }
  CHECK(inputs == std::vector<std::string>{"input", "context", "time"});
}

}  // namespace spillway
