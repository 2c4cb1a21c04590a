// DenseNets (Huang et al. 2017, arXiv 1608.06993, table 1): bottleneck layers, compression one half. Every dense layer
// appends its channels, as many as the growth, to all that came before, by one concat of two inputs.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Variant {
  int depth;
  std::int64_t growth;
  std::array<int, 4> layers;
};
constexpr std::array<Variant, 5> kVariants{{{121, 32, {6, 12, 24, 16}},
                                            {161, 48, {6, 12, 36, 24}},
                                            {169, 32, {6, 12, 32, 32}},
                                            {201, 32, {6, 12, 48, 32}},
                                            {264, 32, {6, 12, 64, 48}}}};

// Batch norm and ReLU come before the convolution.
LayerId NormReluConvolution(NetworkBuilder& b, const std::string& name, LayerId x, const LayerAttributes& a) {
  return b.Convolution(name, b.Relu("relu_" + name, b.BatchNorm("bn_" + name, x)), a);
}

LayerId DenseLayer(NetworkBuilder& b, const std::string& name, LayerId x, std::int64_t growth) {
  LayerId y = NormReluConvolution(b, name + "_1x1", x, Square(4 * growth, 1));
  y = NormReluConvolution(b, name + "_3x3", y, Square(growth, 3, 1, 1));
  return b.Concat(name, {x, y});
}

Network Build(const Variant& variant, const ZooOptions& options) {
  NetworkBuilder b("densenet" + std::to_string(variant.depth), ImageInput(options, 224));
  std::int64_t channels = 2 * variant.growth;
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, Square(channels, 7, 2, 3));
  x = b.MaxPool("pool1", x, Square(0, 3, 2, 1));
  for (std::size_t block = 0; block < variant.layers.size(); ++block) {
    const std::string number = std::to_string(block + 2);
    for (int i = 1; i <= variant.layers[block]; ++i) {
      x = DenseLayer(b, "conv" + number + "_" + std::to_string(i), x, variant.growth);
    }
    channels += variant.growth * variant.layers[block];
    if (block + 1 == variant.layers.size()) break;
    channels /= 2;
    x = NormReluConvolution(b, "transition" + number, x, Square(channels, 1));
    x = b.AveragePool("pool" + number, x, Square(0, 2, 2));
  }
  x = b.Relu("relu5", b.BatchNorm("bn5", x));
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool5", x), ClassesOr(options, 1000)));
}

}  // namespace

Network BuildDenseNet(int depth, const ZooOptions& options) {
  for (const Variant& variant : kVariants) {
    if (variant.depth == depth) return Build(variant, options);
  }
  throw UserError("no DenseNet of depth " + std::to_string(depth));
}

}  // namespace spillway
