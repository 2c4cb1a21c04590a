// DenseNet-121 (Huang et al. 2017, arXiv 1608.06993, table 1): growth 32, bottleneck layers, compression one half.
// Every dense layer appends its 32 channels to all that came before, by one concat of two inputs.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr std::int64_t kGrowth = 32;

// Batch norm and ReLU come before the convolution.
LayerId NormReluConvolution(NetworkBuilder& b, const std::string& name, LayerId x, const LayerAttributes& a) {
  return b.Convolution(name, b.Relu("relu_" + name, b.BatchNorm("bn_" + name, x)), a);
}

LayerId DenseLayer(NetworkBuilder& b, const std::string& name, LayerId x) {
  LayerId y = NormReluConvolution(b, name + "_1x1", x, Square(4 * kGrowth, 1));
  y = NormReluConvolution(b, name + "_3x3", y, Square(kGrowth, 3, 1, 1));
  return b.Concat(name, {x, y});
}

}  // namespace

Network BuildDenseNet121(const ZooOptions& options) {
  NetworkBuilder b("densenet121", ImageInput(options, 224));
  const std::array<int, 4> layers{6, 12, 24, 16};
  std::int64_t channels = 64;
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, Square(channels, 7, 2, 3));
  x = b.MaxPool("pool1", x, Square(0, 3, 2, 1));
  for (std::size_t block = 0; block < layers.size(); ++block) {
    const std::string number = std::to_string(block + 2);
    for (int i = 1; i <= layers[block]; ++i) x = DenseLayer(b, "conv" + number + "_" + std::to_string(i), x);
    channels += kGrowth * layers[block];
    if (block + 1 == layers.size()) break;
    channels /= 2;
    x = NormReluConvolution(b, "transition" + number, x, Square(channels, 1));
    x = b.AveragePool("pool" + number, x, Square(0, 2, 2));
  }
  x = b.Relu("relu5", b.BatchNorm("bn5", x));
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool5", x), ClassesOr(options, 1000)));
}

}  // namespace spillway
