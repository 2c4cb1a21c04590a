// SwinUNETR (Hatamizadeh et al. 2022, arXiv 2201.01266), as MONAI has it. A Swin transformer over a volume is the encoder
// of a U-Net. Windows are 7x7x7, patches merge by MONAI's first version, and instance norms have no scale and shift.
//
// Layers of kind permute that exchange no axes are copies that MONAI makes to lay a tensor's numbers out anew.
#include <array>

#include "model/zoo/swin_blocks.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

LayerAttributes Cube(std::int64_t channels, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  return {.out_channels = channels,
          .window = {window, window, window},
          .stride = {stride, stride, stride},
          .pad = {pad, pad, pad}};
}

class SwinUnetr {
 public:
  SwinUnetr(int features, const ZooOptions& options)
      : features_(features), classes_(ClassesOr(options, 14)), input_(InputOf(options)), b_(NameOf(features), input_) {}

  Network Build() {
    const std::array<LayerId, 5> hidden = Encoder();
    const LayerId whole = Residual("encoder1", kNetworkInput, 1, features_);
    std::array<LayerId, 4> skips{};
    for (std::size_t k = 0; k < 3; ++k) skips[k] = Residual("encoder" + std::to_string(k + 2), hidden[k], At(k), At(k));
    skips[3] = hidden[3];
    LayerId x = Residual("encoder10", hidden[4], At(4), At(4));
    for (std::size_t k = 4; k-- > 0;) x = Up("decoder" + std::to_string(k + 2), x, skips[k], At(k));
    x = Up("decoder1", x, whole, features_);
    return b_.Loss(b_.Convolution("head", x, WithBias(Cube(classes_, 1, 1, 0))));
  }

 private:
  static std::string NameOf(int features) {
    return features == 48 ? "swin-unetr" : "swin-unetr-" + std::to_string(features);
  }

  static Shape InputOf(const ZooOptions& options) {
    Shape input = ImageInput(options, 96);
    input.c = 1;
    input.d = options.frames != 0 ? options.frames : input.h;
    return input;
  }

  // Channels of the hidden states.
  std::int64_t At(std::size_t k) const { return std::int64_t{features_} << k; }

  LayerId Copied(const std::string& name, LayerId x) { return b_.Add(name, "permute", {x}); }

  LayerId Normed(const std::string& name, const char* kind, LayerId x) {
    LayerAttributes plain;
    plain.affine = false;
    return b_.Add(name, kind, {x}, plain);
  }

  // What the patches and each of the four stages leave, normalised.
  std::array<LayerId, 5> Encoder() {
    SwinStage stage{.channels = features_,
                    .heads = 3,
                    .image = {input_.d / 2, input_.h / 2, input_.w / 2},
                    .window = {7, 7, 7},
                    .clips = true};
    LayerId x = b_.Convolution("patches", kNetworkInput, WithBias(Cube(features_, 2, 2, 0)));
    std::array<LayerId, 5> hidden{Normed("hidden0", "layer_norm", x)};
    for (std::size_t k = 1; k <= 4; ++k) {
      const std::string name = "layers" + std::to_string(k);
      x = AddSwinBlock(b_, name + "_0", stage, false, 0, x);
      x = AddSwinBlock(b_, name + "_1", stage, true, 0, x);
      x = AddPatchMerging(b_, name + "_merging", stage, x);
      hidden[k] = Normed("hidden" + std::to_string(k), "layer_norm", x);
      if (k < 4) x = Copied(name + "_copy", x);
    }
    return hidden;
  }

  // Two convolutions beside their input, or beside a convolution of it where the channels differ.
  LayerId Residual(const std::string& name, LayerId x, std::int64_t in, std::int64_t out) {
    LayerId y = Normed(name + "_norm1", "instance_norm", b_.Convolution(name + "_conv1", x, Cube(out, 3, 1, 1)));
    y = b_.Convolution(name + "_conv2", b_.Add(name + "_relu1", "leaky_relu", {y}), Cube(out, 3, 1, 1));
    y = Normed(name + "_norm2", "instance_norm", y);
    if (in != out) x = Normed(name + "_norm3", "instance_norm", b_.Convolution(name + "_conv3", x, Cube(out, 1, 1, 0)));
    return b_.Add(name + "_relu2", "leaky_relu", {b_.AddUp(name + "_add", {y, x})});
  }

  LayerId Up(const std::string& name, LayerId x, LayerId skip, std::int64_t out) {
    const LayerId up = b_.Add(name + "_up", "transposed_convolution", {x}, Cube(out, 2, 2, 0));
    return Residual(name, b_.Concat(name + "_join", {up, skip}), 2 * out, out);
  }

  std::int64_t features_, classes_;
  Shape input_;
  NetworkBuilder b_;
};

}  // namespace

Network BuildSwinUnetr(int features, const ZooOptions& options) { return SwinUnetr(features, options).Build(); }

}  // namespace spillway
