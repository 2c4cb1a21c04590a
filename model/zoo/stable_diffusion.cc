// The U-Net of Stable Diffusion 1.5 (Rombach et al. 2022, arXiv 2112.10752; CompVis's v1-inference.yaml): residual blocks
// that get the time's embedding added, and transformers that attend to the text's. Inputs: latents of 4 channels; `context`,
// the text's 77 x 768; `time`, sines and cosines of the noise level, whose making has no gradient and is left out;
// `noise`, which the result is compared with.
#include <array>
#include <vector>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr std::int64_t kChannels = 320, kHeads = 8, kEmbedded = 1280, kTokens = 77, kTextChannels = 768;
constexpr std::array<std::int64_t, 4> kWidths{320, 640, 1280, 1280};
constexpr std::size_t kAttending = 3;  // levels with transformers

class DiffusionUNet {
 public:
  explicit DiffusionUNet(const ZooOptions& options) : input_(InputOf(options)), b_("stable-diffusion-unet", input_) {}

  Network Build() {
    context_ = Input("context", kTextChannels, kTokens);
    LayerId t = b_.Add("time_silu", "silu", {b_.Linear("time1", Input("time", kChannels, 1), kEmbedded)});
    embedded_ = b_.Linear("time2", t, kEmbedded);
    LayerId x = Down(b_.Convolution("in", kNetworkInput, WithBias(Square(kChannels, 3, 1, 1))));
    x = Residual("middle1", x, kWidths[3], kWidths[3]);
    x = Residual("middle2", Transformer("middle_attention", x, kWidths[3]), kWidths[3], kWidths[3]);
    x = Up(x);
    x = b_.Add("head_silu", "silu", {b_.Add("head_norm", "group_norm", {x})});
    x = b_.Convolution("head", x, WithBias(Square(4, 3, 1, 1)));
    b_.Add("loss", "mse_loss", {x, Noise()});
    return b_.Finish();
  }

 private:
  static Shape InputOf(const ZooOptions& options) {
    Shape input = ImageInput(options, 64);
    input.c = 4;
    return input;
  }

  LayerId Input(const char* name, std::int64_t channels, std::int64_t places) {
    LayerAttributes attributes;
    attributes.out_channels = channels, attributes.image = {1, 1, places};
    return b_.Add(name, "input", {}, attributes);
  }

  LayerId Noise() {
    LayerAttributes attributes;
    attributes.out_channels = input_.c, attributes.image = {1, input_.h, input_.w};
    return b_.Add("noise", "input", {}, attributes);
  }

  LayerId NormSiluConvolution(const std::string& name, LayerId x, std::int64_t out) {
    x = b_.Add(name + "_silu", "silu", {b_.Add(name + "_norm", "group_norm", {x})});
    return b_.Convolution(name, x, WithBias(Square(out, 3, 1, 1)));
  }

  LayerId Residual(const std::string& name, LayerId x, std::int64_t in, std::int64_t out) {
    const LayerId time = b_.Linear(name + "_time", b_.Add(name + "_time_silu", "silu", {embedded_}), out);
    LayerId y = b_.AddUp(name + "_timed", {NormSiluConvolution(name + "_conv1", x, out), time});
    y = NormSiluConvolution(name + "_conv2", y, out);
    if (in != out) x = b_.Convolution(name + "_skip", x, WithBias(Square(out, 1)));
    return b_.AddUp(name, {y, x});
  }

  // Of `x` to itself, or to the text.
  LayerId Attention(const std::string& name, LayerId x, LayerId to, std::int64_t channels) {
    LayerAttributes heads;
    heads.heads = kHeads;
    const LayerId y = b_.Add(name + "_norm", "layer_norm", {x});
    const LayerId source = to == kNetworkInput ? y : to;
    const std::vector<LayerId> qkv{b_.Pointwise(name + "_q", y, channels, false),
                                   b_.Pointwise(name + "_k", source, channels, false),
                                   b_.Pointwise(name + "_v", source, channels, false)};
    return b_.AddUp(name + "_add", {b_.Pointwise(name + "_out", b_.Add(name, "attention", qkv, heads), channels), x});
  }

  LayerId GatedFeedForward(const std::string& name, LayerId x, std::int64_t channels) {
    const LayerId y = b_.Pointwise(name + "_in", b_.Add(name + "_norm", "layer_norm", {x}), 8 * channels);
    LayerAttributes first, second;
    first.end = second.begin = 4 * channels;
    const LayerId gate = b_.Add(name + "_gelu", "gelu", {b_.Add(name + "_gate", "slice", {y}, second)});
    const LayerId gated = b_.Add(name + "_gated", "multiply", {b_.Add(name + "_hidden", "slice", {y}, first), gate});
    return b_.AddUp(name + "_add", {b_.Pointwise(name + "_out", gated, channels), x});
  }

  LayerId Transformer(const std::string& name, LayerId x, std::int64_t channels) {
    LayerId y = b_.Convolution(name + "_in", b_.Add(name + "_norm", "group_norm", {x}), WithBias(Square(channels, 1)));
    y = Attention(name + "_self", y, kNetworkInput, channels);
    y = Attention(name + "_cross", y, context_, channels);
    y = GatedFeedForward(name + "_ff", y, channels);
    return b_.AddUp(name, {b_.Convolution(name + "_out", y, WithBias(Square(channels, 1))), x});
  }

  struct Skip {
    LayerId layer;
    std::int64_t channels;
  };

  LayerId Down(LayerId x) {
    std::int64_t channels = kChannels;
    skips_.push_back({x, channels});
    for (std::size_t level = 0; level < kWidths.size(); ++level) {
      const std::string name = "down" + std::to_string(level);
      for (const char* number : {"_1", "_2"}) {
        x = Residual(name + number, x, channels, kWidths[level]);
        channels = kWidths[level];
        if (level < kAttending) x = Transformer(name + number + "_attention", x, channels);
        skips_.push_back({x, channels});
      }
      if (level + 1 == kWidths.size()) break;
      x = b_.Convolution(name, x, WithBias(Square(channels, 3, 2, 1)));
      skips_.push_back({x, channels});
    }
    return x;
  }

  LayerId Up(LayerId x) {
    std::int64_t channels = kWidths.back();
    for (std::size_t level = kWidths.size(); level-- > 0;) {
      const std::string name = "up" + std::to_string(level);
      for (const char* number : {"_1", "_2", "_3"}) {
        const Skip skip = skips_.back();
        skips_.pop_back();
        const LayerId joined = b_.Concat(name + number + "_join", {x, skip.layer});
        x = Residual(name + number, joined, channels + skip.channels, kWidths[level]);
        channels = kWidths[level];
        if (level < kAttending) x = Transformer(name + number + "_attention", x, channels);
      }
      if (level > 0) x = Larger(name, x, channels);
    }
    return x;
  }

  LayerId Larger(const std::string& name, LayerId x, std::int64_t channels) {
    LayerAttributes twice;
    twice.scale = {1, 2, 2};
    return b_.Convolution(name, b_.Add(name + "_resized", "resize", {x}, twice), WithBias(Square(channels, 3, 1, 1)));
  }

  Shape input_;
  NetworkBuilder b_;
  LayerId context_ = 0, embedded_ = 0;
  std::vector<Skip> skips_;
};

}  // namespace

Network BuildStableDiffusionUNet(const ZooOptions& options) { return DiffusionUNet(options).Build(); }

}  // namespace spillway
