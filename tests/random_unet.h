// U-Nets of any small shape: in two or three dimensions, with the usual ways down, up and across, norms and functions drawn
// at random, and losses at several sizes.
#ifndef SPILLWAY_TESTS_RANDOM_UNET_H_
#define SPILLWAY_TESTS_RANDOM_UNET_H_

#include <array>
#include <string>
#include <vector>

#include "model/util/random.h"
#include "model/zoo/network_builder.h"

namespace spillway {

class RandomUNetBuilder {
 public:
  explicit RandomUNetBuilder(std::uint64_t seed)
      : random_(seed), deep_(random_.Below(3) == 0), b_("random-unet", DrawInput()) {}

  Network Build() {
    struct Level {
      LayerId skip;
      bool pooled;  // halved and rounded down, so that what comes up is no larger than the skip
    };
    std::vector<Level> levels;
    LayerId x = Block("top", kNetworkInput);
    const int halvings = random_.Between(1, 2);
    for (int k = 0; k < halvings; ++k) {
      const bool pooled = random_.Below(2) == 0;
      levels.push_back({x, pooled});
      x = Block("down" + std::to_string(k), Down(std::to_string(k), x, pooled));
    }
    while (!levels.empty()) {
      const std::string level = std::to_string(levels.size() - 1);
      if (random_.Below(3) == 0) AddHead("loss" + level, x, 0.25 * random_.Between(1, 3));
      x = Block("up" + level, Join(level, x, levels.back().skip, levels.back().pooled));
      levels.pop_back();
    }
    AddHead("loss", x, 1);
    return b_.Finish();
  }

 private:
  Shape DrawInput() {
    const auto side = [this] { return static_cast<std::int64_t>(random_.Between(8, deep_ ? 9 : 14)); };
    return {.n = random_.Between(1, 3),
            .c = random_.Between(1, 3),
            .d = deep_ ? random_.Between(4, 6) : 1,
            .h = side(),
            .w = side()};
  }

  std::array<std::int64_t, 3> Each(std::int64_t value, std::int64_t flat) const {
    return {deep_ ? value : flat, value, value};
  }
  LayerAttributes Window(std::int64_t out, std::int64_t window, std::int64_t stride, std::int64_t pad) const {
    return {.out_channels = out, .window = Each(window, 1), .stride = Each(stride, 1), .pad = Each(pad, 0)};
  }
  std::int64_t Channels() { return 4 * random_.Between(1, 2); }

  LayerId Block(const std::string& name, LayerId x) {
    LayerAttributes a = Window(Channels(), 3, 1, 1);
    if (random_.Below(4) == 0) a.dilation = Each(2, 1), a.pad = Each(2, 0);
    a.bias = random_.Below(2) == 0;
    x = b_.Convolution(name + "_conv", x, a);
    const std::array<const char*, 4> norms{"", "batch_norm", "instance_norm", "group_norm"};
    const std::string norm = norms[random_.Below(4)];
    LayerAttributes groups;
    groups.norm_groups = 2;
    if (!norm.empty()) x = b_.Add(name + "_norm", norm.c_str(), {x}, groups);
    const std::array<const char*, 4> functions{"relu", "leaky_relu", "silu", "sigmoid"};
    return b_.Add(name + "_function", functions[random_.Below(4)], {x});
  }

  LayerId Down(const std::string& level, LayerId x, bool pooled) {
    if (pooled) return b_.MaxPool("half" + level, x, Window(0, 2, 2, 0));
    return b_.Convolution("half" + level, x, Window(Channels(), 3, 2, 1));
  }

  // In the size of the skip, or where that is cropped, of what comes up.
  LayerId Join(const std::string& level, LayerId x, LayerId skip, bool pooled) {
    LayerAttributes linear;
    linear.linear = random_.Below(2) == 0;
    if (random_.Below(3) == 0 || (cut_ && !pooled)) {
      x = b_.Add("wide" + level, "resize", {x, skip}, linear);
      cut_ = false;
    } else {
      linear.scale = Each(2, 1);
      x = random_.Below(3) == 0 ? b_.Add("twice" + level, "resize", {x}, linear)
                                : b_.UpConvolution("wide" + level, x, Window(Channels(), 2, 2, 0));
      LayerId& larger = pooled ? skip : x;
      larger = b_.Add("crop" + level, "crop", {larger, pooled ? x : skip});
      cut_ = pooled;
    }
    return b_.Concat("join" + level, {skip, x});
  }

  void AddHead(const std::string& name, LayerId x, double weight) {
    b_.AddLoss(name, b_.Convolution(name + "_head", x, Window(3, 1, 1, 0)), weight);
  }

  Random random_;
  const bool deep_;
  bool cut_ = false;  // what comes up may be smaller than what went down
  NetworkBuilder b_;
};

inline Network RandomUNet(std::uint64_t seed) { return RandomUNetBuilder(seed).Build(); }

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_UNET_H_
