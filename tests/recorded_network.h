// Training steps as recorders write them down, of networks drawn at random: inverted bottlenecks, encoders and decoders with
// skips, inceptions, transformers. Depth, widths, images and batch differ; the order of ops, what backward reads of forward,
// gradients that are added up where they arrive and updates in place are PyTorch's.
#ifndef SPILLWAY_TESTS_RECORDED_NETWORK_H_
#define SPILLWAY_TESTS_RECORDED_NETWORK_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hw/text/units.h"
#include "model/util/random.h"

namespace spillway {

class RecordedNetwork {
 public:
  enum class Kind { kInvertedBottlenecks, kSkips, kInceptions, kTransformer };

  RecordedNetwork(Kind kind, std::uint64_t seed) : random_(seed) {
    if (kind == Kind::kTransformer) {
      Transformer();
      return;
    }
    batch_ = 4 * random_.Between(1, 16);
    Map image{.id = "image", .channels = 3, .side = 16 * random_.Between(4, 16), .trained = false};
    values_.push_back(fmt::format(R"({{"id": "image", "bytes": {}, "where": "host"}})", BytesOf(image)));
    if (kind == Kind::kInvertedBottlenecks) InvertedBottlenecks(image);
    if (kind == Kind::kSkips) Skips(image);
    if (kind == Kind::kInceptions) Inceptions(image);
  }

  // As model/recorded/README.md says.
  std::string Text() {
    for (; !forward_.empty(); forward_.pop_back()) Backward(forward_.back());
    nodes_.insert(nodes_.end(), updates_.begin(), updates_.end());
    return fmt::format(
        "{{\"graph\": \"drawn\", \"source\": {{\"assumed\": \"drawn\"}}, \"error\": 0.1, \"values\": [\n{}], "
        "\"nodes\": [\n{}]}}\n",
        fmt::join(values_, ",\n"), fmt::join(nodes_, ",\n"));
  }

 private:
  struct Map {
    std::string id;
    std::int64_t channels = 1, side = 1;
    bool trained = true;  // has a gradient
  };
  enum class Saves { kNothing, kInputs, kResult, kBoth };
  struct Layer {
    const char* op;
    Saves saves = Saves::kInputs;
    std::int64_t weights = 0;    // elements of parameters; 0: none
    Bytes saved_beside = 0;      // statistics or a mask, made by forward for backward
    std::int64_t workspace = 0;  // elements
    bool in_place = false;       // on the first input
  };
  struct Forward {
    std::string id;
    Layer layer;
    std::vector<Map> inputs;
    Map result;
  };

  Bytes BytesOf(const Map& map) const { return 4 * batch_ * map.channels * map.side * map.side; }

  // A forward op from `inputs` to a map of so many channels and such a side.
  Map Run(const Layer& layer, const std::vector<Map>& inputs, std::int64_t channels, std::int64_t side) {
    const std::string id = fmt::format("{}{}", layer.op, forward_.size());
    const Map result{.id = id + ".y", .channels = channels, .side = side};
    std::vector<std::string> deps, results;
    for (const Map& input : inputs) deps.push_back(input.id);
    results.push_back(layer.in_place ? fmt::format(R"({{"id": "{}", "in_place": "{}"}})", result.id, inputs[0].id)
                                     : Made(result.id, BytesOf(result)));
    if (layer.saved_beside > 0) results.push_back(Made(id + ".saved", layer.saved_beside));
    if (layer.weights > 0) {
      values_.push_back(Made(id + ".w", 4 * layer.weights));
      deps.push_back(id + ".w");
    }
    Write(id, "forward", deps, results, 4 * layer.workspace);
    forward_.push_back({id, layer, inputs, result});
    return result;
  }

  void Backward(const Forward& one) {
    std::vector<std::string> deps, results;
    const auto gradient = gradients_.find(one.result.id);
    if (gradient != gradients_.end()) deps.push_back(gradient->second);
    const Saves saves = one.layer.saves;
    if (saves == Saves::kInputs || saves == Saves::kBoth) {
      for (const Map& input : one.inputs) deps.push_back(input.id);
    }
    if (saves == Saves::kResult || saves == Saves::kBoth) deps.push_back(one.result.id);
    if (one.layer.saved_beside > 0) deps.push_back(one.id + ".saved");
    if (one.layer.weights > 0) {
      deps.push_back(one.id + ".w");
      results.push_back(Made(one.id + ".dw", 4 * one.layer.weights));
      updates_.push_back(Node(one.id + ":step", "update", {one.id + ".dw"},
                              {fmt::format(R"({{"id": "{}.new", "in_place": "{}.w"}})", one.id, one.id)}, 0));
    }
    std::vector<std::pair<Map, std::string>> arrive;
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      if (!one.inputs[k].trained) continue;
      arrive.emplace_back(one.inputs[k], fmt::format("{}.d{}", one.id, k));
      results.push_back(Made(arrive.back().second, BytesOf(one.inputs[k])));
    }
    Write(one.id + ":back", "backward", deps, results, 4 * one.layer.workspace);
    for (const auto& [map, id] : arrive) Arrive(map, id);
  }

  // A second gradient of the same map is added to the first. What was made in place has the gradient of what it was.
  void Arrive(const Map& map, const std::string& id) {
    std::string& known = gradients_[map.id];
    if (!known.empty()) {
      Write(id + ":add", "backward", {known, id}, {Made(id + ".sum", BytesOf(map))}, 0);
      known = id + ".sum";
    } else {
      known = id;
    }
  }

  static std::string Made(const std::string& id, Bytes bytes) {
    return fmt::format(R"({{"id": "{}", "bytes": {}}})", id, bytes);
  }
  std::string Node(const std::string& id, const char* pass, const std::vector<std::string>& deps,
                   const std::vector<std::string>& results, Bytes workspace) {
    return fmt::format(
        R"({{"id": "{}", "op": "o", "pass": "{}", "deps": ["{}"], "results": [{}], "ways": [{{"ns": {}, "workspace": {}}}]}})",
        id, pass, fmt::join(deps, "\", \""), fmt::join(results, ", "), random_.Between(1'000, 900'000), workspace);
  }
  void Write(const std::string& id, const char* pass, const std::vector<std::string>& deps,
             const std::vector<std::string>& results, Bytes workspace) {
    nodes_.push_back(Node(id, pass, deps, results, workspace));
  }

  Map Convolution(const Map& in, std::int64_t channels, std::int64_t stride = 1, std::int64_t window = 1) {
    const std::int64_t side = (in.side + stride - 1) / stride;
    const std::int64_t unrolled = random_.Below(4) == 0 ? in.channels * window * window * side * side : 0;
    return Run({.op = "conv", .weights = in.channels * channels * window * window, .workspace = unrolled}, {in},
               channels, side);
  }
  Map Normalised(const Map& in) {
    return Run({.op = "bn", .weights = 2 * in.channels, .saved_beside = 8 * in.channels}, {in}, in.channels, in.side);
  }
  Map Activated(const Map& in, bool in_place = false) {
    return Run({.op = "act", .saves = in_place ? Saves::kResult : Saves::kInputs, .in_place = in_place}, {in},
               in.channels, in.side);
  }
  Map Block(const Map& in, std::int64_t channels, std::int64_t stride = 1, std::int64_t window = 3) {
    return Activated(Normalised(Convolution(in, channels, stride, window)), in_place_);
  }
  Map Pooled(const Map& in, std::int64_t stride) {
    const std::int64_t side = (in.side + stride - 1) / stride;
    return Run({.op = "pool", .saved_beside = 8 * batch_ * in.channels * side * side}, {in}, in.channels, side);
  }
  Map Joined(const std::vector<Map>& parts) {
    std::int64_t channels = 0;
    for (const Map& part : parts) channels += part.channels;
    return Run({.op = "cat", .saves = Saves::kNothing}, parts, channels, parts[0].side);
  }
  Map Added(const Map& a, const Map& b) {
    return Run({.op = "sum", .saves = Saves::kNothing}, {a, b}, a.channels, a.side);
  }
  void Loss(const Map& in, std::int64_t classes) {
    const Map mean = Run({.op = "mean", .saves = Saves::kNothing}, {in}, in.channels, 1);
    const Map logits = Run({.op = "fc", .weights = in.channels * classes}, {mean}, classes, 1);
    Run({.op = "loss", .saves = Saves::kBoth}, {logits}, 1, 1);
  }

  // As MobileNetV2 and EfficientNet: six times as many channels within a block as between blocks.
  void InvertedBottlenecks(const Map& image) {
    const bool excite = random_.Below(2) == 0;
    in_place_ = random_.Below(2) == 0;
    Map x = Block(image, 32, 2);
    const std::int32_t stages = random_.Between(4, 7);
    for (std::int32_t stage = 0; stage < stages; ++stage) {
      const std::int64_t channels = 8 * random_.Between(2 + 2 * stage, 3 + 4 * stage);
      const std::int32_t blocks = random_.Between(1, 4);
      for (std::int32_t b = 0; b < blocks; ++b) {
        const Map wide = Block(x, 6 * x.channels, 1, 1);
        const std::int64_t side = b == 0 && stage % 2 == 0 ? (x.side + 1) / 2 : x.side;
        const Map deep = Run({.op = "dw", .weights = 9 * wide.channels}, {wide}, wide.channels, side);
        Map y = Activated(Normalised(deep), in_place_);
        if (excite) y = Excited(y);
        y = Normalised(Convolution(y, channels));
        x = b > 0 ? Added(x, y) : y;
      }
    }
    Loss(Block(x, 4 * x.channels, 1, 1), 1000);
  }
  Map Excited(const Map& in) {
    const Map mean = Run({.op = "squeeze", .saves = Saves::kNothing}, {in}, in.channels, 1);
    const Map gate = Convolution(Activated(Convolution(mean, in.channels / 16 + 1)), in.channels);
    return Run({.op = "scale"}, {in, gate}, in.channels, in.side);
  }

  // As U-Net: maps of the way down are joined to those of the way up.
  void Skips(const Map& image) {
    in_place_ = random_.Below(2) == 0;
    const std::int32_t levels = random_.Between(3, 5);
    const std::int64_t width = 8 * random_.Between(2, 8);
    std::vector<Map> skips;
    Map x = image;
    for (std::int32_t level = 0; level < levels; ++level) {
      x = Block(Block(x, width << level), width << level);
      skips.push_back(x);
      x = Pooled(x, 2);
    }
    x = Block(Block(x, width << levels), width << levels);
    for (std::int32_t level = levels; level-- > 0;) {
      const Map& skip = skips[static_cast<std::size_t>(level)];
      const Map up = Run({.op = "up", .weights = 4 * x.channels * skip.channels}, {x}, skip.channels, skip.side);
      x = Block(Block(Joined({skip, up}), skip.channels), skip.channels);
    }
    const Map scores = Convolution(x, random_.Between(2, 20));
    Run({.op = "loss", .saves = Saves::kBoth}, {scores}, 1, 1);
  }

  // As Inception v3: early maps are the largest.
  void Inceptions(const Map& image) {
    in_place_ = random_.Below(4) != 0;
    Map x = Block(Block(Block(image, 32, 2), 32), 64);
    x = Block(Block(Pooled(x, 2), 80, 1, 1), 192);
    const std::int32_t modules = random_.Between(3, 11);
    for (std::int32_t m = 0; m < modules; ++m) {
      if (m % 4 == 0) x = Pooled(x, 2);
      const std::int64_t unit = 16 * random_.Between(2, 4 + 2 * m);
      const Map deep = Block(Block(x, unit, 1, 1), unit + 16 * random_.Between(0, 4));
      const Map deeper = Block(Block(Block(x, unit, 1, 1), unit), unit + 16 * random_.Between(0, 4));
      x = Joined({Block(x, unit + 16 * random_.Between(0, 4), 1, 1), deep, deeper, Block(Pooled(x, 1), unit, 1, 1)});
    }
    Loss(x, 1000);
  }

  // As GPT-2: `side` 1, so that channels are a sample's elements.
  void Transformer() {
    batch_ = random_.Between(1, 16);
    const std::int64_t length = 64 * random_.Between(1, 16), wide = 64 * random_.Between(2, 16);
    const std::int64_t heads = wide / 64, words = 1000 * random_.Between(1, 50);
    const bool fused = random_.Below(2) == 0;  // attention in one op
    const Map tokens{.id = "tokens", .channels = length, .trained = false};
    values_.push_back(fmt::format(R"({{"id": "tokens", "bytes": {}, "where": "host"}})", BytesOf(tokens)));
    Map x = Dropped(Run({.op = "embed", .weights = wide * words}, {tokens}, length * wide, 1));
    const std::int32_t layers = random_.Between(2, 16);
    const auto norm = [&](const Map& in) {
      return Run({.op = "ln", .weights = 2 * wide, .saved_beside = 8 * batch_ * length}, {in}, in.channels, 1);
    };
    const auto linear = [&](const Map& in, std::int64_t from, std::int64_t to) {
      return Run({.op = "fc", .weights = from * to}, {in}, length * to, 1);
    };
    for (std::int32_t layer = 0; layer < layers; ++layer) {
      const Map qkv = linear(norm(x), wide, 3 * wide);
      x = Added(x, Dropped(linear(Attention(qkv, length * wide, fused ? 0 : heads * length * length), wide, wide)));
      const Map hidden = Activated(linear(norm(x), wide, 4 * wide));
      x = Added(x, Dropped(linear(hidden, 4 * wide, wide)));
    }
    const Map logits = linear(norm(x), wide, words);
    Run({.op = "loss", .saves = Saves::kBoth}, {logits}, 1, 1);
  }
  // Of `scores` elements a sample; 0: they are never in memory.
  Map Attention(const Map& qkv, std::int64_t elements, std::int64_t scores) {
    if (scores == 0)
      return Run({.op = "attend", .saves = Saves::kBoth, .saved_beside = elements / 8}, {qkv}, elements, 1);
    const Map soft =
        Run({.op = "softmax", .saves = Saves::kResult}, {Run({.op = "scores"}, {qkv}, scores, 1)}, scores, 1);
    return Run({.op = "context"}, {Dropped(soft), qkv}, elements, 1);
  }
  Map Dropped(const Map& in) {
    return Run({.op = "drop", .saves = Saves::kNothing, .saved_beside = batch_ * in.channels}, {in}, in.channels, 1);
  }

  Random random_;
  std::int64_t batch_ = 1;
  bool in_place_ = false;  // activations
  std::vector<std::string> values_, nodes_, updates_;
  std::vector<Forward> forward_;
  std::map<std::string, std::string> gradients_;  // by map
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RECORDED_NETWORK_H_
