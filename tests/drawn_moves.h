// Layers drawn at random that move elements: parts of an axis, other orders and shapes, windows, pixels as channels;
// further inputs of a network, and its losses. Channels are multiples of 4, before and after.
#ifndef SPILLWAY_TESTS_DRAWN_MOVES_H_
#define SPILLWAY_TESTS_DRAWN_MOVES_H_

#include <array>
#include <string>
#include <vector>

#include "model/zoo/swin_blocks.h"
#include "tests/drawn_layers.h"

namespace spillway {

class DrawnMoves : public DrawnLayers {
 protected:
  using DrawnLayers::DrawnLayers;

  Value Sliced(const Value& x) {
    const std::array<std::int64_t, 4> sizes{x.shape.c / 4, x.shape.d, x.shape.h, x.shape.w};
    LayerAttributes a;
    a.cut_axis = random_.Below(4);
    const int size = static_cast<int>(sizes[a.cut_axis]), begin = random_.Between(0, size - 1);
    const std::int64_t unit = a.cut_axis == 0 ? 4 : 1;
    a.begin = unit * begin, a.end = unit * random_.Between(begin + 1, size);
    if (a.cut_axis != 0) a.step = random_.Between(1, 2);
    return Add("slice", {x}, a);
  }
  Value Reshaped(const Value& x) {
    LayerAttributes a;
    a.out_channels = x.shape.c;
    a.image = {1, 1, x.shape.Spatial()};
    if (Coin()) a.image = {1, x.shape.w, x.shape.d * x.shape.h};
    return Add("reshape", {x}, a);
  }
  Value Permuted(const Value& x) {
    LayerAttributes a;
    a.order = {0, 1, 3, 2};
    if (Coin()) a.order = {0, 3, 2, 1};
    if (Coin()) a.order = {0, 2, 3, 1};
    return Add("permute", {x}, a);
  }
  Value Rolled(const Value& x) {
    LayerAttributes a;
    for (std::int64_t& shift : a.shift) shift = random_.Between(0, 6) - 3;
    return Add("roll", {x}, a);
  }
  Value Padded(const Value& x) {
    LayerAttributes a;
    a.pad = PerAxis(x.shape, 0, 1, 0);
    if (Coin()) a.pad_after = PerAxis(x.shape, 0, 2, 0);
    return Add("pad", {x}, a);
  }
  // Attention within windows, which need not divide the image; every other block is shifted.
  Value InWindows(const Value& x) {
    const SwinStage stage{.channels = x.shape.c,
                          .heads = 2,
                          .image = {x.shape.d, x.shape.h, x.shape.w},
                          .window = PerAxis(x.shape, 1, 3, 1),
                          .clips = Coin()};
    const std::string name = "swin" + std::to_string(++number_);
    return {AddSwinBlock(b_, name, stage, Coin(), random_.Below(3) == 0 ? 0.25 : 0, x.id), x.shape};
  }
  Value PixelsOut(const Value& x) {
    LayerAttributes a;
    a.scale = {1, x.shape.h > 1 && Coin() ? 2 : 1, 2};
    return Add("pixel_shuffle", {Pointwise(x, 4 * a.scale[1] * a.scale[2])}, a);
  }
  Value PixelsIn(const Value& x) {
    const auto halved = [](std::int64_t size) { return std::int64_t{size % 2 == 0 ? 2 : 1}; };
    LayerAttributes a;
    a.scale = {halved(x.shape.d), halved(x.shape.h), halved(x.shape.w)};
    return Add("pixel_unshuffle", {x}, a);
  }
  Value Shuffled(const Value& x) {
    LayerAttributes a;
    a.groups = Coin() ? 2 : 4;
    return Add("channel_shuffle", {x}, a);
  }

  Value Given(const Shape& shape) {
    LayerAttributes a;
    a.out_channels = shape.c;
    if (shape.Spatial() > 1) a.image = {shape.d, shape.h, shape.w};
    Value value = Add("input", {}, a);
    value.shape.n = shape.n;
    return value;
  }
  // A condition with a number per sample and channel, added to each plane.
  Value Conditioned(const Value& x) { return Add("add", {x, Pointwise(Given({.n = x.shape.n, .c = 3}), x.shape.c)}); }
  Value Dropped(const Value& x, const std::string& kind) {
    LayerAttributes a;
    a.rate = 0.125 * random_.Between(1, 4);
    return Add(kind, {x}, a);
  }

  // Of two inputs the second is a further input of the network, or what a layer makes of the first.
  void AddLoss(const std::string& kind, const Value& x, double weight) {
    LayerAttributes a;
    a.weight = weight, a.independent = kind == "dice_loss" && Coin();
    if (kind == "softmax_loss" && Coin()) a.smoothing = 0.1;
    std::vector<Value> inputs{x};
    if (kind == "mse_loss" || kind == "bce_loss") inputs.push_back(Coin() ? Given(x.shape) : Add("sigmoid", {x}));
    Add(kind, inputs, a);
  }
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_DRAWN_MOVES_H_
