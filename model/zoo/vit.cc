// Vision transformers (Dosovitskiy et al. 2021, arXiv 2010.11929): patches as tokens behind a class token, which alone is
// classified. As torchvision has them: no dropout.
#include <array>
#include <string>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Size {
  const char* name;
  std::int64_t patch, features, blocks, heads;
};
constexpr std::array<Size, 3> kSizes{
    {{"vit-b16", 16, 768, 12, 12}, {"vit-l16", 16, 1024, 24, 16}, {"vit-h14", 14, 1280, 32, 16}}};

LayerId Block(NetworkBuilder& b, const std::string& block, LayerId x, const Size& size) {
  LayerAttributes attention;
  attention.heads = size.heads;
  LayerId y = b.Pointwise(block + "_qkv", b.Add(block + "_ln1", "layer_norm", {x}), 3 * size.features);
  y = b.Pointwise(block + "_proj", b.Add(block + "_attention", "attention", {y}, attention), size.features);
  x = b.AddUp(block + "_add1", {y, x});
  y = b.Pointwise(block + "_fc1", b.Add(block + "_ln2", "layer_norm", {x}), 4 * size.features);
  y = b.Pointwise(block + "_fc2", b.Add(block + "_gelu", "gelu", {y}), size.features);
  return b.AddUp(block + "_add2", {x, y});
}

}  // namespace

// `index` into the sizes.
Network BuildVit(int index, const ZooOptions& options) {
  const Size& size = kSizes[static_cast<std::size_t>(index)];
  NetworkBuilder b(size.name, ImageInput(options, 224));
  LayerId x = b.Convolution("patches", kNetworkInput, WithBias(Square(size.features, size.patch, size.patch)));
  x = b.Positions("positions", b.Add("class_token", "class_token", {x}));
  for (std::int64_t k = 0; k < size.blocks; ++k) x = Block(b, "block" + std::to_string(k), x, size);
  return b.Loss(b.First("head", b.Add("ln", "layer_norm", {x}), ClassesOr(options, 1000)));
}

}  // namespace spillway
