// EfficientNet-B0 to B7 (Tan and Le 2019, arXiv 1905.11946, table 1): MobileNetV2's blocks with squeeze and excitation, all
// widths and depths of B0 times a factor. Whole blocks are dropped at random, later ones more often.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/zoo/squeeze_blocks.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Variant {
  double width, depth;
  std::int64_t image;
  double dropout;
};
constexpr std::array<Variant, 8> kVariants{{{1.0, 1.0, 224, 0.2},
                                            {1.0, 1.1, 240, 0.2},
                                            {1.1, 1.2, 260, 0.3},
                                            {1.2, 1.4, 300, 0.3},
                                            {1.4, 1.8, 380, 0.4},
                                            {1.6, 2.2, 456, 0.4},
                                            {1.8, 2.6, 528, 0.5},
                                            {2.0, 3.1, 600, 0.5}}};

struct Stage {
  std::int64_t factor, window, stride;
  double channels, blocks;  // of B0
};
constexpr std::array<Stage, 7> kStages{{{1, 3, 1, 16, 1},
                                        {6, 3, 2, 24, 2},
                                        {6, 5, 2, 40, 2},
                                        {6, 3, 2, 80, 3},
                                        {6, 5, 1, 112, 3},
                                        {6, 5, 2, 192, 4},
                                        {6, 3, 1, 320, 1}}};
constexpr double kMostDropped = 0.2;  // of a block's samples, behind the last one

int BlocksOf(const Stage& stage, const Variant& variant) {
  return static_cast<int>(std::ceil(stage.blocks * variant.depth));
}

struct Block {
  std::int64_t factor, window, stride, in, out;
  double dropped;
};

LayerId AddBlock(NetworkBuilder& b, const std::string& name, LayerId input, const Block& block) {
  const std::int64_t widened = RoundedChannels(static_cast<double>(block.in * block.factor));
  LayerId x = input;
  if (widened != block.in) x = NormAct(b, name + "_widen", x, Keeping(widened, 1), "silu");
  x = NormAct(b, name + "_plane", x, Keeping(widened, block.window, block.stride, widened), "silu");
  const std::int64_t squeezed = std::max<std::int64_t>(1, block.in / 4);
  x = SqueezeAndExcite(b, name + "_se", x, {widened, squeezed, "silu", "sigmoid"});
  x = NormAct(b, name + "_narrow", x, Keeping(block.out, 1), nullptr);
  if (block.stride != 1 || block.in != block.out) return x;
  if (block.dropped > 0) {
    LayerAttributes drop;
    drop.rate = block.dropped;
    x = b.Add(name + "_drop", "depth_drop", {x}, drop);
  }
  return b.AddUp(name, {x, input});
}

}  // namespace

Network BuildEfficientNet(int number, const ZooOptions& options) {
  const Variant& variant = kVariants[static_cast<std::size_t>(number)];
  NetworkBuilder b("efficientnet-b" + std::to_string(number), ImageInput(options, variant.image));
  int all = 0, done = 0;
  for (const Stage& stage : kStages) all += BlocksOf(stage, variant);
  std::int64_t channels = RoundedChannels(32 * variant.width);
  LayerId x = NormAct(b, "stem", kNetworkInput, Keeping(channels, 3, 2), "silu");
  for (const Stage& stage : kStages) {
    const std::int64_t out = RoundedChannels(stage.channels * variant.width);
    for (int k = 0; k < BlocksOf(stage, variant); ++k, ++done) {
      const Block block{stage.factor, stage.window, k == 0 ? stage.stride : 1,
                        channels,     out,          kMostDropped * done / all};
      x = AddBlock(b, "block" + std::to_string(done + 1), x, block);
      channels = out;
    }
  }
  x = NormAct(b, "head", x, Keeping(4 * channels, 1), "silu");
  x = b.Dropout("drop", b.GlobalAveragePool("pool", x), variant.dropout);
  return b.Loss(b.Linear("fc", x, ClassesOr(options, 1000)));
}

}  // namespace spillway
