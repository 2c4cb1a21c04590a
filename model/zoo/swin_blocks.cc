#include "model/zoo/swin_blocks.h"

#include <algorithm>

namespace spillway {
namespace {

using Triple = std::array<std::int64_t, 3>;
constexpr Triple kNone{0, 0, 0};

class Block {
 public:
  Block(NetworkBuilder& b, const std::string& name, const SwinStage& stage, bool shifted)
      : b_(b), name_(name), stage_(stage) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::int64_t image = stage.image[k];
      window_[k] = stage.clips ? std::min(stage.window[k], image) : stage.window[k];
      padded_[k] = (image + window_[k] - 1) / window_[k] * window_[k];
      shift_[k] = shifted && window_[k] < padded_[k] ? stage.window[k] / 2 : 0;
    }
  }

  LayerId Attention(LayerId x) {
    const LayerId padded = Padded(b_.Add(name_ + "_norm1", "layer_norm", {x}));
    LayerId y = b_.Add(name_ + "_windows", "windows", {Rolled("_roll", padded, -1)}, InWindows());
    LayerAttributes attention = InWindows();
    attention.heads = stage_.heads, attention.relative = stage_.window, attention.shift = shift_;
    attention.image = padded_;
    y = b_.Pointwise(name_ + "_qkv", y, 3 * stage_.channels);
    y = b_.Pointwise(name_ + "_proj", b_.Add(name_ + "_attention", "attention", {y}, attention), stage_.channels);
    y = Rolled("_roll_back", b_.Add(name_ + "_merged", "merge_windows", {y, padded}, InWindows()), 1);
    if (padded_ == stage_.image) return y;
    LayerAttributes start;
    start.at_start = true;
    return b_.Add(name_ + "_crop", "crop", {y, x}, start);
  }

  LayerId FeedForward(LayerId x) {
    LayerId y = b_.Pointwise(name_ + "_fc1", b_.Add(name_ + "_norm2", "layer_norm", {x}), 4 * stage_.channels);
    y = b_.Add(name_ + "_gelu", "gelu", {y});
    return b_.Pointwise(name_ + "_fc2", y, stage_.channels);
  }

  LayerId Joined(const char* number, LayerId x, LayerId branch, double dropped) {
    if (dropped > 0) {
      LayerAttributes drop;
      drop.rate = dropped;
      branch = b_.Add(name_ + "_drop" + number, "depth_drop", {branch}, drop);
    }
    return b_.AddUp(name_ + "_add" + number, {branch, x});
  }

 private:
  LayerAttributes InWindows() const {
    LayerAttributes attributes;
    attributes.window = window_;
    return attributes;
  }

  LayerId Padded(LayerId x) {
    if (padded_ == stage_.image) return x;
    LayerAttributes pad;
    for (std::size_t k = 0; k < 3; ++k) pad.pad_after[k] = padded_[k] - stage_.image[k];
    return b_.Add(name_ + "_pad", "pad", {x}, pad);
  }

  LayerId Rolled(const char* suffix, LayerId x, std::int64_t sign) {
    if (shift_ == kNone) return x;
    LayerAttributes roll;
    for (std::size_t k = 0; k < 3; ++k) roll.shift[k] = sign * shift_[k];
    return b_.Add(name_ + suffix, "roll", {x}, roll);
  }

  NetworkBuilder& b_;
  std::string name_;
  SwinStage stage_;
  Triple window_{}, padded_{}, shift_{};
};

}  // namespace

LayerId AddSwinBlock(NetworkBuilder& b, const std::string& name, const SwinStage& stage, bool shifted, double dropped,
                     LayerId x) {
  Block block(b, name, stage, shifted);
  x = block.Joined("1", x, block.Attention(x), dropped);
  return block.Joined("2", x, block.FeedForward(x), dropped);
}

LayerId AddPatchMerging(NetworkBuilder& b, const std::string& name, SwinStage& stage, LayerId x) {
  LayerAttributes odd, halves;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t scale = stage.window[k] > 1 ? 2 : 1;  // depth stays 1 in two dimensions
    halves.scale[k] = scale;
    odd.pad_after[k] = stage.image[k] % scale;
    stage.image[k] = (stage.image[k] + scale - 1) / scale;
  }
  if (odd.pad_after != kNone) x = b.Add(name + "_pad", "pad", {x}, odd);
  x = b.Add(name + "_norm", "layer_norm", {b.Add(name + "_places", "pixel_unshuffle", {x}, halves)});
  stage.channels *= 2;
  stage.heads *= 2;
  return b.Pointwise(name, x, stage.channels, false);
}

}  // namespace spillway
