// ConvNeXt-T and B (Liu et al. 2022, arXiv 2201.03545). Each of its linear layers works on the channels of a position: a matrix
// product, as its public code has it. That code permutes tensors around them, which is a view, and which is left out here.
#include <array>

#include "model/zoo/squeeze_blocks.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Variant {
  const char* name;
  std::int64_t width;
  std::array<int, 4> blocks;
  double most_dropped;  // of the last block's samples
};
constexpr std::array<Variant, 2> kVariants{
    {{"convnext-t", 96, {3, 3, 9, 3}, 0.1}, {"convnext-b", 128, {3, 3, 27, 3}, 0.5}}};

LayerId LayerNorm(NetworkBuilder& b, const std::string& name, LayerId from) {
  return b.Add(name, "layer_norm", {from});
}

LayerId AddBlock(NetworkBuilder& b, const std::string& name, LayerId input, std::int64_t channels, double dropped) {
  LayerId x = b.Convolution(name + "_plane", input, WithBias(Keeping(channels, 7, 1, channels)));
  x = LayerNorm(b, name + "_norm", x);
  x = b.Pointwise(name + "_fc1", x, 4 * channels, true);
  x = b.Add(name + "_act", "gelu", {x});
  x = b.Pointwise(name + "_fc2", x, channels, true);
  x = b.Add(name + "_scale", "scale", {x});
  if (dropped > 0) {
    LayerAttributes drop;
    drop.rate = dropped;
    x = b.Add(name + "_drop", "depth_drop", {x}, drop);
  }
  return b.AddUp(name, {x, input});
}

}  // namespace

Network BuildConvNeXt(int number, const ZooOptions& options) {
  const Variant& variant = kVariants[static_cast<std::size_t>(number)];
  NetworkBuilder b(variant.name, ImageInput(options, 224));
  int all = 0, done = 0;
  for (const int blocks : variant.blocks) all += blocks;
  std::int64_t channels = variant.width;
  LayerId x = b.Convolution("stem", kNetworkInput, WithBias(Square(channels, 4, 4)));
  x = LayerNorm(b, "stem_norm", x);
  for (std::size_t stage = 0; stage < variant.blocks.size(); ++stage) {
    const std::string number_of = std::to_string(stage + 1);
    if (stage > 0) {
      channels *= 2;
      x = LayerNorm(b, "down" + number_of + "_norm", x);
      x = b.Convolution("down" + number_of, x, WithBias(Square(channels, 2, 2)));
    }
    for (int k = 1; k <= variant.blocks[stage]; ++k, ++done) {
      const double dropped = variant.most_dropped * done / (all - 1);
      x = AddBlock(b, "stage" + number_of + "_" + std::to_string(k), x, channels, dropped);
    }
  }
  x = LayerNorm(b, "norm", b.GlobalAveragePool("pool", x));
  return b.Loss(b.Linear("fc", x, ClassesOr(options, 1000)));
}

}  // namespace spillway
