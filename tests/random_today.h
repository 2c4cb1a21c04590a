// Networks of any small shape over all kinds of layers: images and volumes, tokens, what turns one into the other.
//
// Each kind of layer has a block: what a network may do next to a value of any shape, drawn at random. A new kind is a line
// of Blocks().
#ifndef SPILLWAY_TESTS_RANDOM_TODAY_H_
#define SPILLWAY_TESTS_RANDOM_TODAY_H_

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/network/optimizer.h"
#include "tests/drawn_moves.h"

namespace spillway {

class RandomToday : public DrawnMoves {
 public:
  using Block = std::function<Value(RandomToday&, const Value&)>;

  explicit RandomToday(std::uint64_t seed) : DrawnMoves(seed, "random-today"), tokens_(random_.Below(3) == 0) {
    input_ = DrawInput();
    b_ = NetworkBuilder("random-today", input_);
  }

  // By kind of layer; every block has layers of its kind, and may have others. Channels are multiples of 4, before and after.
  static const std::map<std::string, Block>& Blocks() {
    static const std::map<std::string, Block> blocks = AllBlocks();
    return blocks;
  }

  // Some blocks, drawn; every now and then a loss.
  Network Build() {
    Value x = Begin();
    const int count = random_.Between(5, 14);
    for (int k = 0; k < count; ++k) {
      x = Small(DrawnBlock(x));
      if (random_.Below(8) == 0) Head(x, 0.25 * random_.Between(1, 3));
      if (random_.Below(4) == 0 && x.shape.Elements() < 2000) kept_.push_back(x);
    }
    Head(Norm(x, "layer_norm"), 1);
    Network network = b_.Finish();
    if (random_.Below(4) != 0) network.optimizer = &Any(OptimizerTable());
    network.clips_gradients = random_.Below(3) == 0;
    return network;
  }

  // A parameter in front of one block, "before:weight", and a loss behind it.
  Network BuildAround(const std::string& kind) {
    tokens_ = kind == "embedding";
    input_ = tokens_ ? Shape{.n = 2, .c = 2, .w = 5} : Shape{.n = 2, .c = 3, .h = 5, .w = 4};
    b_ = NetworkBuilder(kind, input_);
    const Value in{kNetworkInput, input_};
    const Value x = tokens_ ? Embedded() : Named("before", "convolution", {in}, Square(4, 3, 1, 1));
    Head(Blocks().at(kind)(*this, x), 1);
    return b_.Finish();
  }

 private:
  Shape DrawInput() {
    const auto between = [this](int low, int high) { return static_cast<std::int64_t>(random_.Between(low, high)); };
    const std::int64_t n = between(1, 4);
    if (tokens_) return {.n = n, .c = between(1, 2), .w = between(2, 9)};
    const std::int64_t deep = random_.Below(3) == 0 ? between(2, 4) : 1, most = deep == 1 ? 9 : 6;
    return {
        .n = n, .c = between(1, 4), .d = deep, .h = between(3, 9) * most / 9 + 1, .w = between(2, 9) * most / 9 + 1};
  }

  // ---- Where networks begin and end.

  Value Embedded() {
    const std::int64_t features = Channels();
    Value sum;
    for (std::int64_t row = 0; row < input_.c; ++row) {
      const std::int64_t vocabulary = random_.Between(3, 11);
      const LayerId id = b_.Embedding("embedding" + std::to_string(++number_), vocabulary, features, row);
      const Value one{id, {.n = input_.n, .c = features, .w = input_.w}};
      if (row == 0) table_ = one, vocabulary_ = vocabulary;
      sum = row == 0 ? one : Add("add", {sum, one});
    }
    return sum;
  }
  Value Begin() {
    if (tokens_) return Embedded();
    return Convolved({kNetworkInput, input_});
  }
  void Head(Value x, double weight) {
    const std::int64_t classes = random_.Between(2, 6);
    LayerAttributes all;
    all.out_channels = classes, all.bias = Coin();
    switch (random_.Below(4)) {
      case 0:
        all.first = x.shape.Spatial() > 1;
        x = Add("linear", {x}, all);
        break;
      case 1:
        if (table_.id == kNetworkInput) {
          x = Pointwise(x, classes);
          break;
        }
        x = Pointwise(x, table_.shape.c);
        x.id = b_.Tied("tied" + std::to_string(++number_), x.id, table_.id, Coin());
        x.shape.c = vocabulary_;
        break;
      default:
        x = Coin() ? Pointwise(x, classes) : Add("linear", {GlobalMean(x)}, all);
    }
    static const std::vector<std::string> losses{"softmax_loss", "softmax_loss", "mse_loss", "bce_loss", "dice_loss"};
    AddLoss(Any(losses), x, weight);
  }

  // Few channels, few places: what the next blocks take.
  Value Small(Value x) {
    if (x.shape.c > 16) x = Pointwise(x, Channels(), Coin());
    if (x.shape.Spatial() > 100) x = Pooled(x, "average_pool");
    return x;
  }
  // Only what is made in front, so that nothing but a loss is read by nobody.
  Value DrawnBlock(const Value& x) {
    static const std::vector<std::string> names = [] {
      std::vector<std::string> all;
      for (const auto& [kind, block] : Blocks()) {
        if (kind != "embedding" && !LayerKindByName(kind).loss) all.push_back(kind);
      }
      return all;
    }();
    return Blocks().at(Any(names))(*this, x);
  }

  // ---- Blocks.

  // To a size of its own, or to that of an earlier value.
  Value Resized(const Value& x) {
    LayerAttributes a;
    a.linear = Coin();
    if (!kept_.empty() && Coin()) return Add("resize", {x, Any(kept_)}, a);
    if (Coin()) {
      a.image = PerAxis(x.shape, 1, 8, 1);
    } else {
      a.scale = {x.shape.d > 1 ? 2 : 1, 2, random_.Between(1, 3)};
      if (x.shape.h == 1) a.scale[1] = 1, a.scale[2] = 2;
    }
    return Add("resize", {x}, a);
  }
  Value Cropped(const Value& x) {
    LayerAttributes a;
    for (const Value& kept : kept_) {
      Shape shape;
      if (Fits("crop", {x, kept}, a, &shape) && Coin()) return Add("crop", {x, kept}, a);
    }
    const auto size = [this](std::int64_t most) { return std::int64_t{random_.Between(1, static_cast<int>(most))}; };
    a.image = {size(x.shape.d), size(x.shape.h), size(x.shape.w)};
    return Add("crop", {x}, a);
  }

  Value Norm(const Value& x, const std::string& kind) {
    LayerAttributes a;
    a.affine = kind == "batch_norm" || random_.Below(3) != 0;
    a.norm_groups = x.shape.c % 4 == 0 ? 1 << random_.Below(3) : 1;
    return Add(kind, {x}, a);
  }

  // With an earlier value of the same shape, or with what a function makes of it.
  Value Partner(const Value& x) {
    std::vector<Value> alike;
    for (const Value& kept : kept_) {
      if (kept.shape == x.shape && kept.id != x.id) alike.push_back(kept);
    }
    return alike.empty() ? Add(Coin() ? "sigmoid" : "tanh", {x}) : Any(alike);
  }
  Value Multiplied(const Value& x) {
    switch (random_.Below(4)) {
      case 0:
        return Norm(Add("multiply", {x, x}), "rms_norm");
      case 1:
        return Add("multiply", {x, Add("hard_sigmoid", {Pointwise(GlobalMean(x), x.shape.c)})});
      case 2:
        return Norm(Add("multiply", {Partner(x), x}), "layer_norm");
      default:
        return Add("multiply", {x, Add("sigmoid", {Pointwise(x, x.shape.c)})});
    }
  }
  Value Added(const Value& x) {
    std::vector<Value> all{x, Partner(x)};
    while (random_.Below(3) == 0) all.push_back(Coin() ? x : Partner(x));
    return Add("add", all);
  }
  Value Joined(const Value& x) {
    std::vector<Value> all{x, Pointwise(x, Channels())};
    for (const Value& kept : kept_) {
      const bool fits = kept.shape.d == x.shape.d && kept.shape.h == x.shape.h && kept.shape.w == x.shape.w;
      if (fits && kept.shape.c <= 8 && Coin()) all.push_back(kept);
    }
    if (Coin()) std::swap(all.front(), all.back());
    return Add("concat", all);
  }
  Value Softmax(const Value& x) {
    LayerAttributes a;
    a.last_axis = Coin();
    return Add("softmax", {x}, a);
  }
  Value Rotated(const Value& x) {
    LayerAttributes a;
    a.heads = x.shape.c % 4 == 0 ? random_.Between(1, 2) : 1;
    return Add("rope", {x}, a);
  }
  Value Placed(const Value& x) {
    LayerAttributes a;
    a.positions = Coin() ? 0 : x.shape.Spatial() + random_.Between(0, 3);
    return Add("position", {x}, a);
  }
  Value Linear(const Value& x) {
    if (random_.Below(4) != 0) return Pointwise(x, Channels(), Coin());
    LayerAttributes a;
    a.out_channels = Channels(), a.bias = Coin(), a.first = x.shape.Spatial() > 1 && Coin();
    return Add("linear", {x}, a);
  }

  Value Attended(const Value& x) {
    LayerAttributes a;
    a.heads = 1 << random_.Below(3);
    a.kv_heads = Coin() ? 0 : a.heads / (1 << random_.Below(a.heads == 1 ? 1 : 2));
    a.causal = Coin(), a.fused = random_.Below(3) != 0, a.dropout = random_.Below(3) == 0 ? 0.25 : 0;
    const std::int64_t size = random_.Between(1, 3), kv = (a.kv_heads == 0 ? a.heads : a.kv_heads) * size;
    if (Coin()) return Pointwise(Add("attention", {Pointwise(x, a.heads * size + 2 * kv)}, a), Channels());
    Value query = Pointwise(x, a.heads * size);
    const Value key = Pointwise(x, kv), value = Coin() ? key : Pointwise(x, kv);  // one layer may be both
    if (!a.causal && Coin()) {
      LayerAttributes cut;
      cut.image = {1, 1, 1};
      query = Add("crop", {query}, cut);
    }
    return Pointwise(Add("attention", {query, key, value}, a), Channels());
  }

  static std::map<std::string, Block> AllBlocks() {
    std::map<std::string, Block> blocks;
    for (const char* kind : {"relu", "leaky_relu", "prelu", "relu6", "sigmoid", "hard_sigmoid", "tanh", "silu",
                             "hard_swish", "gelu", "gelu_tanh", "elu", "scale", "lrn", "class_token"}) {
      blocks[kind] = [kind](RandomToday& r, const Value& x) { return r.Add(kind, {x}); };
    }
    for (const char* kind : {"batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm"}) {
      blocks[kind] = [kind](RandomToday& r, const Value& x) { return r.Norm(x, kind); };
    }
    for (const char* kind : {"max_pool", "average_pool"}) {
      blocks[kind] = [kind](RandomToday& r, const Value& x) { return r.Pooled(x, kind); };
    }
    for (const char* kind : {"dropout", "depth_drop"}) {
      blocks[kind] = [kind](RandomToday& r, const Value& x) { return r.Dropped(x, kind); };
    }
    const auto add = [&blocks](const char* kind, Value (RandomToday::*build)(const Value&)) {
      blocks[kind] = [build](RandomToday& r, const Value& x) { return (r.*build)(x); };
    };
    add("convolution", &RandomToday::Convolved);
    add("transposed_convolution", &RandomToday::UpConvolved);
    add("resize", &RandomToday::Resized);
    add("crop", &RandomToday::Cropped);
    add("multiply", &RandomToday::Multiplied);
    add("add", &RandomToday::Added);
    add("concat", &RandomToday::Joined);
    add("softmax", &RandomToday::Softmax);
    add("rope", &RandomToday::Rotated);
    add("position", &RandomToday::Placed);
    add("linear", &RandomToday::Linear);
    add("attention", &RandomToday::Attended);
    add("slice", &RandomToday::Sliced);
    add("reshape", &RandomToday::Reshaped);
    add("permute", &RandomToday::Permuted);
    add("roll", &RandomToday::Rolled);
    add("pad", &RandomToday::Padded);
    add("windows", &RandomToday::InWindows);
    add("merge_windows", &RandomToday::InWindows);
    add("pixel_shuffle", &RandomToday::PixelsOut);
    add("pixel_unshuffle", &RandomToday::PixelsIn);
    add("channel_shuffle", &RandomToday::Shuffled);
    add("input", &RandomToday::Conditioned);
    // Where a network begins and ends.
    blocks["embedding"] = [](RandomToday&, const Value& x) { return x; };
    for (const char* kind : {"softmax_loss", "mse_loss", "bce_loss", "dice_loss"}) {
      blocks[kind] = [kind](RandomToday& r, const Value& x) {
        r.AddLoss(kind, r.Pointwise(x, 3), 0.5);
        return x;
      };
    }
    return blocks;
  }

  bool tokens_;
  Shape input_{};
  Value table_{};  // the embedding that heads may share
  std::int64_t vocabulary_ = 0;
  std::vector<Value> kept_;  // for later blocks
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_TODAY_H_
