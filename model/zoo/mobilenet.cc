// MobileNets: V2 (Sandler et al. 2018, arXiv 1801.04381, table 2) and V3 (Howard et al. 2019, arXiv 1905.02244, tables 1
// and 2). A block widens by a 1x1 convolution, goes plane by plane, and narrows without an activation.
#include <span>

#include "model/zoo/squeeze_blocks.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Block {
  std::int64_t window, widened, out;
  bool squeezes;
  const char* activation;
  std::int64_t stride;
};

LayerId AddBlock(NetworkBuilder& b, const std::string& name, LayerId input, std::int64_t channels, const Block& block) {
  LayerId x = input;
  if (block.widened != channels) x = NormAct(b, name + "_widen", x, Keeping(block.widened, 1), block.activation);
  const LayerAttributes by_plane = Keeping(block.widened, block.window, block.stride, block.widened);
  x = NormAct(b, name + "_plane", x, by_plane, block.activation);
  if (block.squeezes) {
    const std::int64_t squeezed = RoundedChannels(static_cast<double>(block.widened) / 4);
    x = SqueezeAndExcite(b, name + "_se", x, {block.widened, squeezed, "relu", "hard_sigmoid"});
  }
  x = NormAct(b, name + "_narrow", x, Keeping(block.out, 1), nullptr);
  return block.stride == 1 && block.out == channels ? b.AddUp(name, {x, input}) : x;
}

struct Stage {
  std::int64_t factor, channels;
  int blocks;
  std::int64_t stride;
};

// Blocks 3, 3 x 3 wide in the middle; the last linear layers of V3.
Network BuildV3(const char* name, std::span<const Block> blocks, std::int64_t last, const ZooOptions& options) {
  NetworkBuilder b(name, ImageInput(options, 224));
  std::int64_t channels = 16;
  LayerId x = NormAct(b, "stem", kNetworkInput, Keeping(channels, 3, 2), "hard_swish");
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    x = AddBlock(b, "block" + std::to_string(k + 1), x, channels, blocks[k]);
    channels = blocks[k].out;
  }
  x = NormAct(b, "head", x, Keeping(6 * channels, 1), "hard_swish");
  x = b.Linear("fc1", b.GlobalAveragePool("pool", x), last);
  x = b.Dropout("drop", b.Add("fc1_act", "hard_swish", {x}), 0.2);
  return b.Loss(b.Linear("fc2", x, ClassesOr(options, 1000)));
}

}  // namespace

Network BuildMobileNetV2(const ZooOptions& options) {
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  NetworkBuilder b("mobilenet-v2", ImageInput(options, 224));
  std::int64_t channels = 32;
  LayerId x = NormAct(b, "stem", kNetworkInput, Keeping(channels, 3, 2), "relu6");
  int number = 0;
  for (const Stage& stage : kStages) {
    for (int k = 0; k < stage.blocks; ++k) {
      const Block block{3, channels * stage.factor, stage.channels, false, "relu6", k == 0 ? stage.stride : 1};
      x = AddBlock(b, "block" + std::to_string(++number), x, channels, block);
      channels = stage.channels;
    }
  }
  x = NormAct(b, "head", x, Keeping(1280, 1), "relu6");
  x = b.Dropout("drop", b.GlobalAveragePool("pool", x), 0.2);
  return b.Loss(b.Linear("fc", x, ClassesOr(options, 1000)));
}

Network BuildMobileNetV3Large(const ZooOptions& options) {
  constexpr const char *kRe = "relu", *kHs = "hard_swish";
  constexpr Block kBlocks[] = {{3, 16, 16, false, kRe, 1},  {3, 64, 24, false, kRe, 2},  {3, 72, 24, false, kRe, 1},
                               {5, 72, 40, true, kRe, 2},   {5, 120, 40, true, kRe, 1},  {5, 120, 40, true, kRe, 1},
                               {3, 240, 80, false, kHs, 2}, {3, 200, 80, false, kHs, 1}, {3, 184, 80, false, kHs, 1},
                               {3, 184, 80, false, kHs, 1}, {3, 480, 112, true, kHs, 1}, {3, 672, 112, true, kHs, 1},
                               {5, 672, 160, true, kHs, 2}, {5, 960, 160, true, kHs, 1}, {5, 960, 160, true, kHs, 1}};
  return BuildV3("mobilenet-v3-large", kBlocks, 1280, options);
}

Network BuildMobileNetV3Small(const ZooOptions& options) {
  constexpr const char *kRe = "relu", *kHs = "hard_swish";
  constexpr Block kBlocks[] = {{3, 16, 16, true, kRe, 2},  {3, 72, 24, false, kRe, 2}, {3, 88, 24, false, kRe, 1},
                               {5, 96, 40, true, kHs, 2},  {5, 240, 40, true, kHs, 1}, {5, 240, 40, true, kHs, 1},
                               {5, 120, 48, true, kHs, 1}, {5, 144, 48, true, kHs, 1}, {5, 288, 96, true, kHs, 2},
                               {5, 576, 96, true, kHs, 1}, {5, 576, 96, true, kHs, 1}};
  return BuildV3("mobilenet-v3-small", kBlocks, 1024, options);
}

}  // namespace spillway
