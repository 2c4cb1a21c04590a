// Networks that move elements about and take milliseconds to train: windows, shuffles, a condition beside the image.
#ifndef SPILLWAY_TESTS_WINDOW_NETWORKS_H_
#define SPILLWAY_TESTS_WINDOW_NETWORKS_H_

#include <string>
#include <vector>

#include "model/zoo/network_builder.h"
#include "model/zoo/swin_blocks.h"

namespace spillway {

// Shifted windows of an image that they do not divide, dropped samples, patch merging of an odd image, one window alone.
inline Network TinySwin() {
  NetworkBuilder b("tiny-swin", {.n = 4, .c = 3, .h = 10, .w = 14});
  SwinStage stage{.channels = 4, .heads = 2, .image = {1, 5, 7}, .window = {1, 3, 3}};
  LayerId x = b.Add("patches_norm", "layer_norm", {b.Convolution("patches", kNetworkInput, WithBias(Square(4, 2, 2)))});
  x = AddSwinBlock(b, "a", stage, false, 0, x);
  x = AddSwinBlock(b, "b", stage, true, 0.25, x);
  x = AddPatchMerging(b, "merging", stage, x);
  x = AddSwinBlock(b, "c", stage, true, 0, x);
  return b.Loss(b.Linear("head", b.GlobalAveragePool("pool", b.Add("norm", "layer_norm", {x})), 5));
}

// In three dimensions, where windows are clipped to the image along some axes.
inline Network TinySwin3d() {
  NetworkBuilder b("tiny-swin-3d", {.n = 4, .c = 2, .d = 4, .h = 8, .w = 4});
  SwinStage stage{.channels = 4, .heads = 2, .image = {2, 4, 2}, .window = {3, 2, 3}, .clips = true};
  LayerAttributes patches{.out_channels = 4, .window = {2, 2, 2}, .stride = {2, 2, 2}};
  LayerId x = b.Convolution("patches", kNetworkInput, WithBias(patches));
  x = AddSwinBlock(b, "a", stage, false, 0, x);
  x = AddSwinBlock(b, "b", stage, true, 0, x);
  x = b.Add("copy", "permute", {AddPatchMerging(b, "merging", stage, x)});
  return b.Loss(b.Linear("head", b.GlobalAveragePool("pool", x), 3));
}

inline LayerAttributes Cut(std::size_t axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
  LayerAttributes attributes;
  attributes.cut_axis = axis, attributes.begin = begin, attributes.end = end, attributes.step = step;
  return attributes;
}

// Channels split, shuffled and joined, as ShuffleNet does; pixels as channels and back; other orders and shapes.
inline Network Shuffled() {
  NetworkBuilder b("shuffled", {.n = 4, .c = 3, .h = 8, .w = 6});
  LayerAttributes groups, twice, turned, flat;
  groups.groups = 2, twice.scale = {1, 2, 2}, turned.order = {2, 1, 0, 3};
  flat.out_channels = 4, flat.image = {2, 3, 16};
  LayerId x = b.ConvolutionNormRelu("stem", kNetworkInput, Square(8, 3, 1, 1));
  const LayerId left = b.Add("left", "slice", {x}, Cut(0, 0, 4)), right = b.Add("right", "slice", {x}, Cut(0, 4, 0));
  x = b.Concat("join", {left, b.ConvolutionNormRelu("conv", right, Square(4, 3, 1, 1))});
  x = b.Relu("relu", b.Add("shuffle", "channel_shuffle", {x}, groups));
  LayerId y = b.Convolution("small", b.Add("in", "pixel_unshuffle", {x}, twice), Square(32, 1));
  x = b.AddUp("sum", {x, b.Add("out", "pixel_shuffle", {y}, twice)});
  y = b.Add("rows", "slice", {b.Add("even", "slice", {x}, Cut(2, 0, 0, 2))}, Cut(3, 1, 5));
  y = b.Linear("side", b.Add("turned", "permute", {b.Add("tanh", "tanh", {y})}, turned), 6);
  x = b.Add("flat", "reshape", {x}, flat);
  LayerAttributes pad, roll;
  pad.pad = {0, 1, 0}, pad.pad_after = {0, 0, 2}, roll.shift = {1, -2, 5};
  x = b.Add("rolled", "roll", {b.Add("padded", "pad", {x}, pad)}, roll);
  return b.Loss(b.Linear("fc", b.Concat("both", {b.Linear("main", x, 6), y}), 5));
}

// A diffusion U-Net's parts: a time's embedding added to each plane, attention to a text, a gated feed-forward.
inline Network Conditioned() {
  NetworkBuilder b("conditioned", {.n = 4, .c = 2, .h = 4, .w = 4});
  LayerAttributes text, time, heads;
  text.out_channels = 6, text.image = {1, 1, 5}, time.out_channels = 3, heads.heads = 2;
  const LayerId context = b.Add("context", "input", {}, text), noise = b.Add("time", "input", {}, time);
  const LayerId embedded = b.Add("silu", "silu", {b.Linear("time1", noise, 8)});
  LayerId x = b.Convolution("in", kNetworkInput, WithBias(Square(8, 3, 1, 1)));
  LayerId y = b.AddUp("timed", {b.Convolution("conv", x, Square(8, 3, 1, 1)), b.Linear("time2", embedded, 8)});
  x = b.AddUp("residual", {y, x});
  y = b.Add("norm", "layer_norm", {x});
  y = b.Add("cross", "attention",
            {b.Pointwise("q", y, 8, false), b.Pointwise("k", context, 8, false), b.Pointwise("v", context, 8, false)},
            heads);
  x = b.AddUp("attended", {b.Pointwise("proj", y, 8), x});
  y = b.Pointwise("wide", b.Add("norm2", "layer_norm", {x}), 16);
  const LayerId gate = b.Add("gelu", "gelu", {b.Add("gate", "slice", {y}, Cut(0, 8, 0))});
  y = b.Add("gated", "multiply", {b.Add("hidden", "slice", {y}, Cut(0, 0, 8)), gate});
  x = b.AddUp("out", {b.Pointwise("narrow", y, 8), x});
  return b.Loss(b.Convolution("head", x, WithBias(Square(3, 1))));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_WINDOW_NETWORKS_H_
