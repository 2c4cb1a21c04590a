// Small networks of the layers that networks have today, in several sizes: U-Nets, GPTs, Llamas, ViTs, Swins, mobile networks.
// Their widths and lengths are none of the zoo's.
#include <string>
#include <utility>

#include "calibrate/measure/plan.h"
#include "model/network/optimizer.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/swin_blocks.h"

namespace spillway {
namespace {

struct Size {
  std::int64_t batch, places, channels;  // places: of a side, or tokens
};

// Each family comes once in each round, small and large in turn.
constexpr std::size_t kRounds = 6;
constexpr Size kGpts[kRounds] = {{3, 72, 88}, {6, 40, 152}, {2, 168, 56}, {1, 24, 40}, {5, 56, 104}, {2, 88, 24}};
constexpr Size kUNets[kRounds] = {{6, 36, 12}, {3, 52, 28}, {10, 20, 44}, {1, 28, 8}, {2, 76, 20}, {4, 12, 36}};
constexpr Size kLlamas[kRounds] = {{4, 44, 104}, {2, 120, 72}, {8, 28, 136}, {1, 20, 40}, {3, 60, 56}, {2, 36, 24}};
constexpr Size kMobiles[kRounds] = {{7, 44, 20}, {14, 20, 52}, {5, 60, 12}, {1, 12, 28}, {3, 36, 44}, {2, 28, 4}};
constexpr Size kSwins[kRounds] = {{4, 40, 48}, {2, 56, 80}, {8, 20, 64}, {1, 28, 24}, {3, 36, 96}, {2, 20, 16}};
constexpr Size kVits[kRounds] = {{5, 40, 80}, {3, 56, 56}, {9, 24, 120}, {1, 20, 40}, {2, 72, 88}, {4, 12, 24}};

LayerAttributes Heads(std::int64_t heads, bool causal, bool fused = true) {
  LayerAttributes attributes;
  attributes.heads = heads, attributes.causal = causal, attributes.fused = fused;
  return attributes;
}

// Down, up by a transposed convolution, up by resizing; instance and group norm, leaky ReLU and SiLU.
Network UNet(const Size& size) {
  NetworkBuilder b("grid", {.n = size.batch, .c = 3, .h = size.places, .w = size.places});
  LayerAttributes groups, linear;
  groups.norm_groups = 4;
  linear.linear = true;
  const auto block = [&](const std::string& name, LayerId x, std::int64_t channels, bool in_groups) {
    x = b.Convolution(name, x, WithBias(Square(channels, 3, 1, 1)));
    if (in_groups) return b.Add(name + "_silu", "silu", {b.Add(name + "_norm", "group_norm", {x}, groups)});
    return b.Add(name + "_leaky", "leaky_relu", {b.Add(name + "_norm", "instance_norm", {x})});
  };
  const LayerId top = block("top", kNetworkInput, size.channels, false);
  const LayerId low =
      block("low", b.Convolution("half", top, Square(2 * size.channels, 3, 2, 1)), 2 * size.channels, true);
  LayerId x = b.Concat("skip", {top, b.UpConvolution("up", low, Square(size.channels, 2, 2))});
  const LayerId wide = b.Add("wide", "resize", {b.Convolution("low_1x1", low, Square(size.channels, 1)), top}, linear);
  x = b.AddUp("sum", {block("joined", x, size.channels, false), b.Add("edge", "crop", {wide, top})});
  return b.Loss(b.Convolution("classes", x, Square(4, 1)));
}

// Packed causal attention with dropout, GELU, a tied head over a vocabulary.
Network Gpt(const Size& size) {
  NetworkBuilder b("grid", {.n = size.batch, .c = 1, .w = size.places});
  const LayerId tokens = b.Embedding("tokens", 9 * size.channels, size.channels);
  LayerId x = b.Positions("positions", tokens);
  const LayerId qkv = b.Pointwise("qkv", b.Add("norm1", "layer_norm", {x}), 3 * size.channels);
  x = b.AddUp("add1", {x, b.Pointwise("out", b.Add("attention", "attention", {qkv}, Heads(4, true)), size.channels)});
  const LayerId wide = b.Pointwise("wide", b.Add("norm2", "layer_norm", {x}), 4 * size.channels);
  x = b.AddUp("add2",
              {x, b.Dropout("drop", b.Pointwise("narrow", b.Add("gelu", "gelu_tanh", {wide}), size.channels), 0.1)});
  return b.Loss(b.Tied("head", b.Add("norm", "layer_norm", {x}), tokens, false));
}

// RMS norm, rotated queries and keys, grouped heads, a gate.
Network Llama(const Size& size) {
  NetworkBuilder b("grid", {.n = size.batch, .c = 1, .w = size.places});
  LayerId x = b.Embedding("tokens", 6 * size.channels, size.channels);
  const LayerId normed = b.Add("norm1", "rms_norm", {x});
  LayerAttributes grouped = Heads(4, true);
  grouped.kv_heads = 2;
  const LayerId query = b.Add("q_rope", "rope", {b.Pointwise("q", normed, size.channels, false)}, Heads(4, false));
  const LayerId key = b.Add("k_rope", "rope", {b.Pointwise("k", normed, size.channels / 2, false)}, Heads(2, false));
  const LayerId value = b.Pointwise("v", normed, size.channels / 2, false);
  const LayerId mixed = b.Add("attention", "attention", {query, key, value}, grouped);
  x = b.AddUp("add1", {x, b.Pointwise("out", mixed, size.channels, false)});
  const LayerId y = b.Add("norm2", "rms_norm", {x});
  const LayerId gate = b.Add("silu", "silu", {b.Pointwise("gate", y, 3 * size.channels, false)});
  const LayerId gated = b.Add("gated", "multiply", {gate, b.Pointwise("up", y, 3 * size.channels, false)});
  x = b.AddUp("add2", {x, b.Pointwise("down", gated, size.channels, false)});
  return b.Loss(b.Pointwise("head", b.Add("norm", "rms_norm", {x}), 6 * size.channels, false));
}

// Patches, a class token, attention written out, GELU.
Network Vit(const Size& size) {
  NetworkBuilder b("grid", {.n = size.batch, .c = 3, .h = size.places, .w = size.places});
  LayerId x = b.Convolution("patches", kNetworkInput, WithBias(Square(size.channels, 4, 4)));
  x = b.Positions("positions", b.Add("class_token", "class_token", {x}));
  const LayerId qkv = b.Pointwise("qkv", b.Add("norm1", "layer_norm", {x}), 3 * size.channels);
  const LayerId mixed = b.Add("attention", "attention", {qkv}, Heads(4, false, false));
  x = b.AddUp("add1", {x, b.Pointwise("out", mixed, size.channels)});
  const LayerId wide = b.Pointwise("wide", b.Add("norm2", "layer_norm", {x}), 4 * size.channels);
  x = b.AddUp("add2", {x, b.Pointwise("narrow", b.Add("gelu", "gelu", {wide}), size.channels)});
  return b.Loss(b.First("head", b.Add("norm", "layer_norm", {x}), 24));
}

// A block that widens, over each channel apart, with squeeze and excitation, PReLU, layer scale, and dropped samples.
Network Mobile(const Size& size) {
  NetworkBuilder b("grid", {.n = size.batch, .c = 3, .h = size.places, .w = size.places});
  LayerId x = b.ConvolutionNormRelu("stem", kNetworkInput, Square(size.channels, 3, 1, 1));
  const std::int64_t wide = 4 * size.channels;
  LayerAttributes apart = Square(wide, 3, 1, 1);
  apart.groups = wide;
  LayerId y = b.Add("relu6", "relu6", {b.BatchNorm("wide_norm", b.Convolution("wide", x, Square(wide, 1)))});
  y = b.Add("hard_swish", "hard_swish", {b.BatchNorm("apart_norm", b.Convolution("apart", y, apart))});
  const LayerId squeezed = b.Convolution("squeeze", b.GlobalAveragePool("mean", y), WithBias(Square(wide, 1)));
  y = b.Add("gated", "multiply", {y, b.Add("gate", "sigmoid", {squeezed})});
  y = b.Add("scaled", "scale", {b.Add("prelu", "prelu", {b.Convolution("narrow", y, Square(size.channels, 1))})});
  x = b.AddUp("sum", {x, b.Add("dropped", "depth_drop", {y})});
  return b.Loss(b.Linear("classes", b.GlobalAveragePool("pool", x), 20 + size.batch));
}

// Shifted windows, patch merging, a condition added to each plane; segmentation by Dice, and a square between two results.
Network Swin(const Size& size) {
  NetworkBuilder b("grid", {.n = size.batch, .c = 3, .h = size.places, .w = size.places});
  const std::int64_t side = size.places / 4;
  SwinStage stage{.channels = size.channels, .heads = 4, .image = {1, side, side}, .window = {1, 5, 5}};
  LayerAttributes time, target;
  time.out_channels = 16;
  target.out_channels = 2 * size.channels, target.image = {1, (side + 1) / 2, (side + 1) / 2};
  LayerId x = b.Convolution("patches", kNetworkInput, WithBias(Square(size.channels, 4, 4)));
  x = b.AddUp("timed", {x, b.Pointwise("time", b.Add("given", "input", {}, time), size.channels)});
  x = AddSwinBlock(b, "a", stage, false, 0, x);
  x = AddSwinBlock(b, "b", stage, true, 0.1, x);
  b.Add("dice", "dice_loss", {b.Pointwise("classes", x, 5)});
  x = AddPatchMerging(b, "merging", stage, x);
  const LayerId other = b.Pointwise("other", b.Add("target", "input", {}, target), 2 * size.channels);
  b.Add("square", "mse_loss", {x, other});
  return b.Finish();
}

void AddNetwork(Network network, const char* optimizer, std::vector<std::shared_ptr<const BenchNetwork>>* grid) {
  network.optimizer = &OptimizerByName(optimizer);
  grid->push_back(MakeBenchNetwork("grid", std::move(network), StepOptionsByName("torch-2")));
}

}  // namespace

std::vector<std::shared_ptr<const BenchNetwork>> BenchGridToday() {
  std::vector<std::shared_ptr<const BenchNetwork>> grid;
  for (std::size_t k = 0; k < kRounds; ++k) {
    AddNetwork(Gpt(kGpts[k]), "adamw-fused", &grid);
    AddNetwork(UNet(kUNets[k]), "sgd-momentum", &grid);
    AddNetwork(Llama(kLlamas[k]), "adamw-fused", &grid);
    AddNetwork(Mobile(kMobiles[k]), "sgd-momentum", &grid);
    AddNetwork(Vit(kVits[k]), "adamw-foreach", &grid);
    AddNetwork(Swin(kSwins[k]), "adamw-fused", &grid);
  }
  return grid;
}

}  // namespace spillway
