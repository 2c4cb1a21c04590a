#include "model/network/network.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/network/layer_kind.h"
#include "model/zoo/network_builder.h"

namespace spillway {
namespace {

Network Listed(std::vector<Layer> layers) {
  Network network;
  network.name = "listed";
  network.input = {.n = 2, .c = 3, .h = 8, .w = 8};
  network.layers = std::move(layers);
  return network;
}

Layer MakeLayer(const char* name, const char* kind, std::vector<LayerId> inputs,
                const LayerAttributes& attributes = {}) {
  return {.name = name,
          .kind = &LayerKindByName(kind),
          .attributes = attributes,
          .inputs = std::move(inputs),
          .shape = {},
          .mark = {}};
}

std::vector<std::string> Complaints(Network network) {
  try {
    InferShapes(network);
  } catch (const UserError& error) {
    return error.messages();
  }
  return {};
}

bool Mentions(const std::vector<std::string>& messages, const std::string& text) {
  return std::any_of(messages.begin(), messages.end(),
                     [&](const std::string& message) { return message.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("shapes follow the layers") {
  NetworkBuilder b("small", {.n = 4, .c = 3, .h = 32, .w = 20});
  LayerId x = b.ConvolutionRelu("conv", kNetworkInput, Square(8, 3, 2, 1));  // (32+2-3)/2+1 = 16, (20+2-3)/2+1 = 10
  x = b.MaxPool("pool", x, Square(0, 2, 2));
  const Network network = b.Loss(b.Linear("fc", x, 10));
  CHECK(network.layers[0].shape == Shape{.n = 4, .c = 8, .h = 16, .w = 10});
  CHECK(network.layers[2].shape == Shape{.n = 4, .c = 8, .h = 8, .w = 5});
  CHECK(network.layers[3].shape == Shape{.n = 4, .c = 10});
  // conv 8 x 3 x 3 x 3 + 8 = 224, fc 10 x (8 x 8 x 5) + 10 = 3210
  CHECK(CountParameters(network) == 3434);
}

TEST_CASE("layers may be listed in any order") {
  // Listed: fc reads relu, relu reads the input, loss reads fc.
  Network network = Listed({MakeLayer("fc", "linear", {1}, {.out_channels = 5}),
                            MakeLayer("relu", "relu", {kNetworkInput}), MakeLayer("loss", "softmax_loss", {0})});
  InferShapes(network);
  REQUIRE(network.layers.size() == 3);
  CHECK(network.layers[0].name == "relu");
  CHECK(network.layers[1].name == "fc");
  CHECK(network.layers[1].inputs == std::vector<LayerId>{0});
  CHECK(network.layers[2].inputs == std::vector<LayerId>{1});
  CHECK(network.layers[2].shape == Shape{.n = 2, .c = 5});
}

TEST_CASE("a cycle is printed") {
  const auto messages = Complaints(Listed({MakeLayer("a", "relu", {2}), MakeLayer("b", "relu", {0}),
                                           MakeLayer("c", "relu", {1}), MakeLayer("loss", "softmax_loss", {2})}));
  REQUIRE(messages.size() == 1);
  CHECK(messages[0] == "layer 'a': is part of a cycle: a <- c <- b <- a");
}

TEST_CASE("structure mistakes are named, all of them") {
  const auto messages =
      Complaints(Listed({MakeLayer("a", "relu", {kNetworkInput}), MakeLayer("a", "relu", {kNetworkInput}),
                         MakeLayer("x:y", "add", {0}), MakeLayer("end", "relu", {2})}));
  CHECK(Mentions(messages, "layer 'a' is listed twice"));
  CHECK(Mentions(messages, "layer name 'x:y' must not contain ':' or spaces"));
  CHECK(Mentions(messages, "layer 'a': no other layer reads it, and relu is no loss (softmax_loss"));
  CHECK(Mentions(messages, "layer 'end': no other layer reads it, and relu is no loss (softmax_loss"));
  CHECK(Mentions(messages, "layer 'x:y': add takes 2 to 64 inputs, not 1"));
  CHECK(messages.size() == 5);  // 'end' reads a broken layer: no complaint of its own
}

TEST_CASE("a loss in the middle and an empty network are refused") {
  CHECK(Mentions(
      Complaints(Listed({MakeLayer("early", "softmax_loss", {kNetworkInput}), MakeLayer("loss", "softmax_loss", {0})})),
      "layer 'early': a loss ends a network, and layer 'loss' reads it"));
  CHECK(Complaints(Listed({})) == std::vector<std::string>{"network 'listed' has no layers"});
}

TEST_CASE("there may be several losses, wherever they are listed") {
  CHECK(
      Complaints(Listed({MakeLayer("first", "softmax_loss", {2}), MakeLayer("second", "softmax_loss", {kNetworkInput}),
                         MakeLayer("relu", "relu", {kNetworkInput})}))
          .empty());
}

TEST_CASE("a layer of which only the shape is taken is read by nobody") {
  const auto messages =
      Complaints(Listed({MakeLayer("small", "max_pool", {kNetworkInput}, Square(0, 2, 2)),
                         MakeLayer("crop", "crop", {kNetworkInput, 0}), MakeLayer("loss", "softmax_loss", {1})}));
  REQUIRE(messages.size() == 1);
  CHECK(Mentions(messages, "layer 'small': no other layer reads it"));
}

TEST_CASE("skips that do not match name both layers, and what helps") {
  const auto messages = Complaints(
      Listed({MakeLayer("skip", "relu", {kNetworkInput}), MakeLayer("small", "max_pool", {0}, Square(0, 2, 2)),
              MakeLayer("join", "concat", {0, 1}), MakeLayer("loss", "softmax_loss", {2})}));
  CHECK(messages == std::vector<std::string>{
                        "layer 'join': inputs to be concatenated differ in more than channels: 2x3x8x8 and 2x3x4x4; "
                        "crop or resize one of them (input skip 2x3x8x8, small 2x3x4x4)"});
}

TEST_CASE("names that could be mistaken for others are refused") {
  const auto named = [](const char* name) {
    return Complaints(Listed({MakeLayer(name, "softmax_loss", {kNetworkInput})}));
  };
  CHECK(named("fine-name.1/a").empty());
  CHECK(Mentions(named("input"), "cannot name a layer"));
  CHECK(Mentions(named(""), "a layer needs a name"));
  CHECK(Mentions(named("two words"), "must not contain"));
}

TEST_CASE("sizes that overflow are refused, not computed") {
  Network network = Listed({MakeLayer("loss", "softmax_loss", {kNetworkInput})});
  network.input = {.n = 1000000, .c = 1 << 24, .h = 1 << 20, .w = 1 << 20};
  CHECK(Mentions(Complaints(network), "the network's input is 1000000x16777216x1048576x1048576: too large"));
  // Weights of 2^20 features to 2^21 are 2^41 elements, the limit is 10^12 or nearly 2^40.
  NetworkBuilder b("wide", {.n = 1, .c = 1 << 20});
  CHECK_THROWS_WITH(b.Loss(b.Linear("fc", kNetworkInput, 1 << 21)),
                    "the weight of layer 'fc' is 2097152x1048576x1x1: too large");
  network.input = {.n = 0, .c = 3, .h = 8, .w = 8};
  CHECK(Mentions(Complaints(network), "sizes must be positive"));
}

TEST_CASE("unknown kinds name the nearest") {
  CHECK_THROWS_WITH(LayerKindByName("convolutoin"), "unknown layer kind 'convolutoin'; did you mean 'convolution'?");
  CHECK(FindLayerKind("conv4d") == nullptr);
  CHECK(FindLayerKind("relu") == &LayerKindByName("relu"));
}

}  // namespace spillway
