// Small networks of the layers that networks have today: norms of single samples, smooth activations, products.
#ifndef SPILLWAY_TESTS_SMALL_NETWORKS_TODAY_H_
#define SPILLWAY_TESTS_SMALL_NETWORKS_TODAY_H_

#include <string>
#include <vector>

#include "model/zoo/network_builder.h"
#include "tests/small_networks.h"
#include "tests/transformer_networks.h"
#include "tests/window_networks.h"

namespace spillway {

inline LayerAttributes InGroups(std::int64_t groups) {
  LayerAttributes attributes;
  attributes.norm_groups = groups;
  return attributes;
}

inline LayerAttributes NotAffine() {
  LayerAttributes attributes;
  attributes.affine = false;
  return attributes;
}

inline LayerAttributes Dropping(double rate) {
  LayerAttributes attributes;
  attributes.rate = rate;
  return attributes;
}

// Every norm, each with and without scale and shift, and every activation behind one of them; blocks that add up.
inline Network Normed() {
  NetworkBuilder b("normed", {.n = 8, .c = 3, .h = 8, .w = 8});
  LayerId x = b.Convolution("stem", kNetworkInput, Square(8, 3, 1, 1));
  int number = 0;
  const auto block = [&](const char* norm, const LayerAttributes& of_norm, const char* first, const char* second) {
    const std::string name = "block" + std::to_string(++number);
    LayerId y = b.Convolution(name + "_conv", x, WithBias(Square(8, 3, 1, 1)));
    y = b.Add(name + "_first", first, {b.Add(name + "_norm", norm, {y}, of_norm)});
    x = b.AddUp(name, {b.Add(name + "_second", second, {y}), x});
  };
  block("instance_norm", {}, "leaky_relu", "tanh");
  block("instance_norm", NotAffine(), "elu", "sigmoid");
  block("group_norm", InGroups(2), "silu", "relu6");
  block("layer_norm", {}, "gelu", "hard_swish");
  block("layer_norm", NotAffine(), "gelu_tanh", "hard_sigmoid");
  block("rms_norm", {}, "prelu", "leaky_relu");
  x = b.MaxPool("pool", x, Square(0, 3, 2, 1));
  return b.Loss(b.Linear("fc", b.AveragePool("average", x, Square(0, 2, 2)), 5));
}

// Squeeze and excitation, a product of two maps, of a map with itself, layer scale, dropped samples.
inline Network Gated() {
  NetworkBuilder b("gated", {.n = 8, .c = 3, .h = 8, .w = 8});
  LayerId x = b.ConvolutionNormRelu("stem", kNetworkInput, Square(8, 3, 1, 1));
  for (const char* block : {"a", "b"}) {
    const std::string name = block;
    LayerId y = b.Add(name + "_silu", "silu", {b.Convolution(name + "_conv", x, Square(8, 3, 1, 1))});
    const LayerId gate = b.Convolution(name + "_fc", b.GlobalAveragePool(name + "_squeeze", y), WithBias(Square(8, 1)));
    y = b.Add(name + "_se", "multiply", {y, b.Add(name + "_gate", "sigmoid", {gate})});
    y = b.Add(name + "_drop", "depth_drop", {b.Add(name + "_scale", "scale", {y})}, Dropping(0.25));
    x = b.AddUp(name, {y, x});
  }
  const LayerId side = b.Add("side_tanh", "tanh", {b.Convolution("side", x, Square(8, 1))});
  x = b.Add("product", "multiply", {x, side});
  x = b.Add("square", "multiply", {b.MaxPool("pool", x, Square(0, 2, 2)), b.MaxPool("pool2", x, Square(0, 2, 2))});
  x = b.Add("twice", "multiply", {x, x});
  return b.Loss(b.Linear("fc", b.Dropout("drop", b.GlobalAveragePool("mean", x), 0.5), 5));
}

inline const std::vector<SmallNetwork> kNetworksToday = {{"normed", Normed, "plain"},
                                                         {"normed", Normed, "torch-2"},
                                                         {"gated", Gated, "torch-1.13"},
                                                         {"gated", Gated, "chainer"},
                                                         {"gpt", TinyGpt, "torch-2"},
                                                         {"gpt", TinyGpt, "torch-1.13"},
                                                         {"vit", TinyVit, "plain"},
                                                         {"llama", TinyLlama, "torch-2"},
                                                         {"bert", TinyBert, "chainer"},
                                                         {"swin", TinySwin, "torch-2"},
                                                         {"swin-3d", TinySwin3d, "chainer"},
                                                         {"shuffled", Shuffled, "torch-2"},
                                                         {"conditioned", Conditioned, "torch-2"}};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SMALL_NETWORKS_TODAY_H_
