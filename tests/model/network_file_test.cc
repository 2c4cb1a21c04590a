#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "hw/text/lists.h"
#include "model/network/layer_kind.h"
#include "model/network/network.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"

namespace spillway {
namespace {

Network Read(const std::string& text, std::int64_t batch = 1) {
  const Document document = ParseDocument(text, "net.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, batch);
  diagnostics.ThrowIfAny();
  return network;
}

// First lines of the messages, without the excerpts below them.
std::vector<std::string> Complaints(const std::string& text) {
  std::vector<std::string> lines;
  try {
    Read(text);
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) lines.push_back(message.substr(0, message.find('\n')));
  }
  return lines;
}

using Lines = std::vector<std::string>;

std::string LossNames() {
  std::string names;
  for (const LayerKind* kind : LayerKinds()) {
    if (kind->loss) names += (names.empty() ? "" : ", ") + std::string(kind->name);
  }
  return names;
}

// Line 4 is the first layer's.
std::string WithLayers(const std::string& layers) {
  return "name: n\ninput: {channels: 4, image: 8}\nlayers:\n" + layers + "  - {name: loss, kind: softmax_loss}\n";
}

}  // namespace

TEST_CASE("the example network") {
  const Network network = LoadNetwork(std::string(SPILLWAY_SOURCE_DIR) + "/model/networks/residual.yaml", 4);
  CHECK(network.name == "residual");
  CHECK(network.input == Shape{.n = 4, .c = 3, .h = 32, .w = 32});
  CHECK(network.layers.size() == 15);
  // conv1 16 x 27, conv2 32 x 144, conv3 32 x 8 x 9 (4 groups), shortcut 32 x 16, norms 2 x (16 + 3 x 32), fc 330
  CHECK(CountParameters(network) == 432 + 4608 + 2304 + 512 + 224 + 330);
  CHECK(BuildTrainingStep(network).maps.size() == 9);
}

TEST_CASE("an example with squeeze and excitation") {
  const Network network = LoadNetwork(std::string(SPILLWAY_SOURCE_DIR) + "/model/networks/mobile.yaml", 2);
  // Convolutions 16 x 27, 64 x 16, 64 x 25, 16 x 64 + 16, 64 x 16 + 64, 24 x 64, 96 x 24, 96 x 25, 24 x 96; norms
  // 2 x (16 + 64 + 64 + 24 + 96 + 96 + 24); fc 250.
  CHECK(CountParameters(network) == 432 + 1024 + 1600 + 1040 + 1088 + 1536 + 2304 + 2400 + 2304 + 768 + 250);
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  CHECK(step.maps.size() == 25);
}

TEST_CASE("layers read the one before unless told otherwise") {
  const Network network =
      Read(WithLayers("  - {name: a, kind: relu}\n"
                      "  - {name: b, kind: relu}\n"
                      "  - {name: c, kind: relu, from: a}\n"
                      "  - {name: d, kind: add, from: [b, c, input]}\n"));
  CHECK(network.layers[0].inputs == std::vector<LayerId>{kNetworkInput});
  CHECK(network.layers[1].inputs == std::vector<LayerId>{0});
  CHECK(network.layers[2].inputs == std::vector<LayerId>{0});
  CHECK(network.layers[3].inputs == std::vector<LayerId>{1, 2, kNetworkInput});
  CHECK(network.layers[4].inputs == std::vector<LayerId>{3});
}

TEST_CASE("a layer may read one that is listed later") {
  const Network network =
      Read(WithLayers("  - {name: a, kind: relu, from: b}\n"
                      "  - {name: b, kind: relu, from: input}\n"
                      "  - {name: c, kind: relu, from: a}\n"));
  CHECK(network.layers[0].name == "b");
  CHECK(network.layers[1].name == "a");
}

TEST_CASE("every key reaches its attribute") {
  const Network network = Read(WithLayers(
      "  - {name: a, kind: convolution, out: 8, window: [3, 5], stride: [1, 2], pad: [1, 2], groups: 4, bias: true}\n"
      "  - {name: b, kind: max_pool, window: 3, stride: 2, pad: 1, ceil: true}\n"
      "  - {name: c, kind: lrn, size: 3}\n"
      "  - {name: d, kind: dropout, rate: 0.25}\n"
      "  - {name: e, kind: average_pool, global: true}\n"
      "  - {name: f, kind: linear, out: 7, bias: true}\n"));
  const LayerAttributes& a = network.layers[0].attributes;
  CHECK(a.out_channels == 8);
  CHECK(a.window == std::array<std::int64_t, 3>{1, 3, 5});
  CHECK(a.stride == std::array<std::int64_t, 3>{1, 1, 2});
  CHECK(a.pad == std::array<std::int64_t, 3>{0, 1, 2});
  CHECK(a.groups == 4);
  CHECK(a.bias);
  CHECK(network.layers[0].shape == Shape{.n = 1, .c = 8, .h = 8, .w = 4});
  CHECK(network.layers[1].attributes.ceil_mode);
  CHECK(network.layers[1].shape == Shape{.n = 1, .c = 8, .h = 5, .w = 3});  // (10-3)/2 = 3.5, (6-3)/2 = 1.5: up
  CHECK(network.layers[2].attributes.size == 3);
  CHECK(network.layers[3].attributes.rate == 0.25);
  CHECK(network.layers[4].attributes.global);
  CHECK(network.layers[5].attributes.bias);
}

TEST_CASE("keys of norms and activations reach their attributes") {
  const Network network =
      Read(WithLayers("  - {name: a, kind: group_norm, groups: 2, affine: false}\n"
                      "  - {name: b, kind: instance_norm}\n"
                      "  - {name: c, kind: leaky_relu, slope: 0.2}\n"
                      "  - {name: d, kind: depth_drop, rate: 0.1}\n"));
  CHECK(network.layers[0].attributes.norm_groups == 2);
  CHECK_FALSE(network.layers[0].attributes.affine);
  CHECK(network.layers[1].attributes.affine);
  CHECK(network.layers[2].attributes.slope == 0.2);
  CHECK(network.layers[3].attributes.rate == 0.1);
  CHECK(CountParameters(network) == 2 * 4);  // of instance norm alone
  CHECK(Complaints(WithLayers("  - {name: a, kind: leaky_relu, slope: 0}\n")).size() == 1);
  CHECK(Complaints(WithLayers("  - {name: a, kind: group_norm}\n")) ==
        Lines{"net.yaml:4:5: error: layer 'a': 32 groups do not divide 4 channels (input 1x4x8x8)"});
}

TEST_CASE("a number means all axes the input has") {
  const std::string layers =
      "layers:\n  - {name: a, kind: convolution, out: 1, window: 3}\n  - {name: loss, kind: softmax_loss}\n";
  const Network flat = Read("name: n\ninput: {height: 8, width: 6}\n" + layers);
  CHECK(flat.layers[0].attributes.window == std::array<std::int64_t, 3>{1, 3, 3});
  CHECK(flat.layers[0].shape == Shape{.n = 1, .c = 1, .h = 6, .w = 4});
  const Network video = Read("name: n\ninput: {depth: 4, image: 8}\n" + layers, 2);
  CHECK(video.layers[0].attributes.window == std::array<std::int64_t, 3>{3, 3, 3});
  CHECK(video.layers[0].shape == Shape{.n = 2, .c = 1, .d = 2, .h = 6, .w = 6});
}

const std::string kOthers = "; a network with others is recorded as a step, `network: {graph: ...}` of a scenario)";

TEST_CASE("all mistakes of the layers at once, with places and nearest names") {
  CHECK(Complaints(WithLayers("  - {name: a, kind: convolutoin, out: 8}\n"
                              "  - {name: b1, kind: relu, form: a}\n"
                              "  - {name: b1, kind: relu}\n"
                              "  - {name: c, kind: add, from: [a, inpt]}\n"
                              "  - {name: d, kind: convolution, out: 0, window: big}\n"
                              "  - {kind: relu}\n"
                              "  - relu\n")) ==
        Lines{"net.yaml:4:21: error: unknown layer kind 'convolutoin'; did you mean 'convolution'? (`spillway list "
              "layers` has all" +
                  kOthers,
              "net.yaml:5:28: error: unknown key 'form' in layer 'b1'; did you mean 'from'? (one of name, kind, from" +
                  kOthers,
              "net.yaml:6:12: error: layer 'b1' is listed twice",
              "net.yaml:7:36: error: no layer is named 'inpt'; did you mean 'input'?",
              "net.yaml:8:39: error: out: expected a whole number from 1 to 16777216, found '0'",
              "net.yaml:8:50: error: window: expected a whole number between 1 and 1048576, found 'big'",
              "net.yaml:9:5: error: missing key 'name' in layer",
              "net.yaml:10:5: error: layer: expected a map, found a single value"});
}

TEST_CASE("keys that belong to other kinds are unknown") {
  CHECK(Complaints(WithLayers("  - {name: a, kind: relu, window: 3}\n"
                              "  - {name: b, kind: linear, out: 3, groups: 2}\n")) ==
        Lines{"net.yaml:4:27: error: unknown key 'window' in layer 'a' (one of name, kind, from" + kOthers,
              "net.yaml:5:37: error: unknown key 'groups' in layer 'b' (one of name, kind, from, out, bias, pointwise, "
              "first, tied, frozen" +
                  kOthers});
}

TEST_CASE("a key that no layer of the kind has: all that it has are listed, and where others go") {
  for (const char* key : {"dilate: 2", "output_padding: 1", "padding_mode: reflect"}) {
    const Lines lines =
        Complaints(WithLayers(fmt::format("  - {{name: a, kind: convolution, out: 3, window: 3, {}}}\n", key)));
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0],
               Catch::Contains("in layer 'a'") &&
                   Catch::EndsWith(
                       "(one of name, kind, from, window, stride, dilation, pad, pad_after, out, groups, bias, frozen" +
                       kOthers));
  }
}

TEST_CASE("pooling needs its window and stride, global pooling neither") {
  CHECK(Complaints(WithLayers("  - {name: a, kind: max_pool, window: 2}\n"
                              "  - {name: b, kind: average_pool, window: 2}\n"
                              "  - {name: c, kind: average_pool, global: true, stride: 2}\n"
                              "  - {name: d, kind: average_pool, global: true, pad: 1}\n"
                              "  - {name: e, kind: average_pool, global: true, pad_after: 1}\n"
                              "  - {name: f, kind: average_pool, global: true, ceil: true}\n")) ==
        Lines{"net.yaml:4:5: error: missing key 'stride' in layer 'a'",
              "net.yaml:5:5: error: missing key 'stride' (or 'global: true')",
              "net.yaml:6:57: error: global pooling takes no 'stride'",
              "net.yaml:7:54: error: global pooling takes no 'pad'",
              "net.yaml:8:60: error: global pooling takes no 'pad_after'",
              "net.yaml:9:55: error: global pooling takes no 'ceil'"});
}

TEST_CASE("Dice loss takes no softmax of one channel") {
  const auto dice = [](const std::string& keys) {
    return Complaints(
        WithLayers("  - {name: a, kind: convolution, out: 1, window: 1}\n"
                   "  - {name: dice, kind: dice_loss" +
                   keys + "}\n" + "  - {name: b, kind: relu, from: input}\n"));
  };
  CHECK(dice("") == Lines{"net.yaml:5:5: error: layer 'dice': softmax of one channel is 1 everywhere: expected two "
                          "channels or more, or `probabilities: sigmoid` (input 1x1x8x8)"});
  CHECK(dice(", probabilities: sigmoid").empty());
}

TEST_CASE("shapes that do not fit have places too") {
  CHECK(Complaints(WithLayers("  - {name: a, kind: convolution, out: 6, window: 9}\n"
                              "  - {name: b, kind: convolution, from: input, out: 6, window: 3}\n"
                              "  - {name: c, kind: add, from: [b, input]}\n"
                              "  - {name: d, kind: concat, from: [a, c]}\n"
                              "  - {name: e, kind: relu, from: [b, d]}\n")) ==
        Lines{"net.yaml:4:5: error: layer 'a': the window's width 9 exceeds the padded input's 8 (input 1x4x8x8)",
              "net.yaml:6:5: error: layer 'c': inputs to be added differ in shape: 1x6x6x6 and 1x4x8x8"
              " (input b 1x6x6x6, input 1x4x8x8)",
              "net.yaml:8:5: error: layer 'e': relu takes 1 input, not 2"});
}

TEST_CASE("cycles and unread layers have places too") {
  CHECK(Complaints(WithLayers("  - {name: a, kind: relu, from: b}\n"
                              "  - {name: b, kind: relu, from: a}\n"
                              "  - {name: idle, kind: relu, from: input}\n"
                              "  - {name: c, kind: relu, from: a}\n")) ==
        Lines{"net.yaml:4:5: error: layer 'a': is part of a cycle: a <- b <- a",
              "net.yaml:6:5: error: layer 'idle': no other layer reads it, and relu is no loss (" + LossNames() +
                  "): end the network with one"});
}

TEST_CASE("the head of a network") {
  CHECK(Complaints("name: n\ninput: {channels: 0}\nlayers: []\n") ==
        Lines{"net.yaml:2:8: error: input: give 'image' (height and width alike) or 'height' and 'width'",
              "net.yaml:2:19: error: channels: expected a whole number from 1 to 16777216, found '0'",
              "net.yaml:3:9: error: layers: expected a list of layers"});
  CHECK(Complaints("input: {image: 8, height: 4}\nlayer: []\n") ==
        Lines{"net.yaml:1:1: error: missing key 'name' in network",
              "net.yaml:1:1: error: missing key 'layers' in network",
              "net.yaml:1:27: error: 'height' besides 'image': give either the one or height and width",
              "net.yaml:2:1: error: unknown key 'layer' in network; did you mean 'layers'?"});
  CHECK(Complaints("name: n\ninput: {height: 8}\nlayers:\n  - {name: loss, kind: softmax_loss}\n") ==
        Lines{"net.yaml:2:17: error: 'height' without 'width' in input: give both, or 'image' where they are alike"});
  CHECK(Complaints("name: n\ninput: 224\nlayers:\n  - {name: loss, kind: softmax_loss}\n") ==
        Lines{"net.yaml:2:8: error: input: expected a map, found a single value"});
}

TEST_CASE("a network of absurd size is refused") {
  CHECK(Complaints("name: n\ninput: {channels: 16777216, image: 1048576}\nlayers:\n"
                   "  - {name: loss, kind: softmax_loss}\n")[0]
            .find("the network's input is 1x16777216x1048576x1048576: too large") != std::string::npos);
}

}  // namespace spillway
