// U-Nets: an encoder whose maps come back, at each size, into a decoder.
#include <algorithm>
#include <array>
#include <vector>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

// ---- U-Net in two dimensions (Ronneberger et al. 2015, arXiv 1505.04597, figure 1): convolutions without padding, so that
// skips are larger than what they join, and are cropped. Its dropout at the encoder's end is left out.

constexpr int kLevels = 5;

LayerId TwoConvolutions(NetworkBuilder& b, const std::string& name, LayerId x, std::int64_t channels) {
  x = b.ConvolutionRelu(name + "_1", x, Square(channels, 3));
  return b.ConvolutionRelu(name + "_2", x, Square(channels, 3));
}

LayerId Up(NetworkBuilder& b, const std::string& level, LayerId x, LayerId skip, std::int64_t channels) {
  const LayerId up = b.UpConvolution("up" + level, x, Square(channels, 2));
  const LayerId cropped = b.Add("crop" + level, "crop", {skip, up});
  return TwoConvolutions(b, "decoder" + level, b.Concat("join" + level, {cropped, up}), channels);
}

// ---- nnU-Net in three (Isensee et al. 2021, doi 10.1038/s41592-020-01008-z; nnU-Net v2's PlainConvUNet as it plans
// 3d_fullres for cubes of equal spacing): strided convolutions, and a loss at each size of the decoder but the smallest.

LayerAttributes Cube(std::int64_t channels, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  return {.out_channels = channels,
          .window = {window, window, window},
          .stride = {stride, stride, stride},
          .pad = {pad, pad, pad}};
}

std::int64_t ChannelsOf(int stage) { return std::min<std::int64_t>(320, std::int64_t{32} << stage); }

class NnUNet {
 public:
  NnUNet(int stages, const ZooOptions& options)
      : stages_(stages),
        classes_(ClassesOr(options, 3)),
        b_(stages == 6 ? "nnunet-3d" : "nnunet-3d-" + std::to_string(stages), InputOf(options)) {}

  Network Build() {
    std::vector<LayerId> skips;
    LayerId x = kNetworkInput;
    for (int stage = 0; stage < stages_; ++stage) {
      x = Stage("encoder" + std::to_string(stage), x, ChannelsOf(stage), stage == 0 ? 1 : 2);
      skips.push_back(x);
    }
    std::vector<LayerId> heads;
    for (int stage = stages_ - 2; stage >= 0; --stage) {
      const std::string level = std::to_string(stage);
      const LayerId up = b_.UpConvolution("up" + level, x, Cube(ChannelsOf(stage), 2, 2, 0));
      const LayerId joined = b_.Concat("join" + level, {up, skips[static_cast<std::size_t>(stage)]});
      x = Stage("decoder" + level, joined, ChannelsOf(stage), 1);
      heads.insert(heads.begin(), b_.Convolution("head" + level, x, WithBias(Cube(classes_, 1, 1, 0))));
    }
    AddLosses(heads);
    return b_.Finish();
  }

 private:
  static Shape InputOf(const ZooOptions& options) {
    Shape input = ImageInput(options, 128);
    input.c = 1;
    input.d = options.frames != 0 ? options.frames : input.h;
    return input;
  }

  LayerId Stage(const std::string& name, LayerId x, std::int64_t channels, std::int64_t stride) {
    for (const char* number : {"_1", "_2"}) {
      const std::string at = name + number;
      x = b_.Convolution(at, x, WithBias(Cube(channels, 3, stride, 1)));
      x = b_.Add("relu_" + at, "leaky_relu", {b_.Add("norm_" + at, "instance_norm", {x})});
      stride = 1;
    }
    return x;
  }

  // Each half of the one before, the smallest 0, in sum 1.
  void AddLosses(const std::vector<LayerId>& heads) {
    const std::size_t counted = std::max<std::size_t>(1, heads.size() - 1);
    double sum = 0;
    for (std::size_t k = 0; k < counted; ++k) sum += 1.0 / static_cast<double>(1 << k);
    for (std::size_t k = 0; k < heads.size(); ++k) {
      const double weight = k < counted ? 1.0 / static_cast<double>(1 << k) / sum : 0;
      b_.AddLoss("loss" + std::to_string(k), heads[k], weight);
    }
  }

  const int stages_;
  const std::int64_t classes_;
  NetworkBuilder b_;
};

}  // namespace

Network BuildUNet2d(const ZooOptions& options) {
  Shape input = ImageInput(options, 572);
  input.c = 1;
  NetworkBuilder b("unet-2d", input);
  std::array<LayerId, kLevels> skips{};
  LayerId x = kNetworkInput;
  for (int level = 0; level < kLevels; ++level) {
    if (level > 0) x = b.MaxPool("pool" + std::to_string(level), x, Square(0, 2, 2));
    x = TwoConvolutions(b, "encoder" + std::to_string(level), x, std::int64_t{64} << level);
    skips[static_cast<std::size_t>(level)] = x;
  }
  for (int level = kLevels - 2; level >= 0; --level) {
    x = Up(b, std::to_string(level), x, skips[static_cast<std::size_t>(level)], std::int64_t{64} << level);
  }
  return b.Loss(b.Convolution("head", x, WithBias(Square(ClassesOr(options, 2), 1))));
}

Network BuildNnUNet3d(int stages, const ZooOptions& options) { return NnUNet(stages, options).Build(); }

}  // namespace spillway
