// Swin-T and B (Liu et al. 2021, arXiv 2103.14030), as torchvision has them.
#include <array>

#include "model/zoo/swin_blocks.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Variant {
  const char* name;
  std::int64_t channels, heads;
  std::array<int, 4> blocks;
  double most_dropped;  // by the last block
};
constexpr std::array<Variant, 2> kVariants{
    {{"swin-t", 96, 3, {2, 2, 6, 2}, 0.2}, {"swin-b", 128, 4, {2, 2, 18, 2}, 0.5}}};

}  // namespace

Network BuildSwin(int number, const ZooOptions& options) {
  const Variant& variant = kVariants[static_cast<std::size_t>(number)];
  const Shape input = ImageInput(options, 224);
  NetworkBuilder b(variant.name, input);
  int all = 0, done = 0;
  for (const int blocks : variant.blocks) all += blocks;
  SwinStage stage{.channels = variant.channels,
                  .heads = variant.heads,
                  .image = {1, input.h / 4, input.w / 4},
                  .window = {1, 7, 7}};
  LayerId x = b.Convolution("patches", kNetworkInput, WithBias(Square(variant.channels, 4, 4)));
  x = b.Add("patches_norm", "layer_norm", {x});
  for (std::size_t k = 0; k < variant.blocks.size(); ++k) {
    const std::string name = "stage" + std::to_string(k + 1);
    if (k > 0) x = AddPatchMerging(b, name + "_merging", stage, x);
    for (int block = 0; block < variant.blocks[k]; ++block, ++done) {
      const double dropped = variant.most_dropped * done / (all - 1);
      x = AddSwinBlock(b, name + "_" + std::to_string(block + 1), stage, block % 2 == 1, dropped, x);
    }
  }
  return b.Loss(
      b.Linear("head", b.GlobalAveragePool("pool", b.Add("norm", "layer_norm", {x})), ClassesOr(options, 1000)));
}

}  // namespace spillway
