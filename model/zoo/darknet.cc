// Darknet-53 (Redmon and Farhadi 2018, arXiv 1804.02767, table 1): 3x3 convolutions of stride 2 between stages of residual
// blocks, batch norm and leaky ReLU of slope 0.1 behind each convolution.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

LayerId ConvolutionNormLeaky(NetworkBuilder& b, const std::string& name, LayerId x, const LayerAttributes& a) {
  LayerAttributes leaky;
  leaky.slope = 0.1;
  return b.Add("leaky_" + name, "leaky_relu", {b.BatchNorm("bn_" + name, b.Convolution(name, x, a))}, leaky);
}

}  // namespace

Network BuildDarknet53(const ZooOptions& options) {
  constexpr std::array kBlocks{1, 2, 8, 8, 4};
  NetworkBuilder b("darknet53", ImageInput(options, 256));
  std::int64_t channels = 32;
  LayerId x = ConvolutionNormLeaky(b, "conv1", kNetworkInput, Square(channels, 3, 1, 1));
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage) {
    const std::string number = std::to_string(stage + 2);
    channels *= 2;
    x = ConvolutionNormLeaky(b, "conv" + number, x, Square(channels, 3, 2, 1));
    for (int block = 1; block <= kBlocks[stage]; ++block) {
      const std::string name = "res" + number + "_" + std::to_string(block);
      const LayerId narrow = ConvolutionNormLeaky(b, name + "_1", x, Square(channels / 2, 1));
      x = b.AddUp(name, {x, ConvolutionNormLeaky(b, name + "_2", narrow, Square(channels, 3, 1, 1))});
    }
  }
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool", x), ClassesOr(options, 1000)));
}

}  // namespace spillway
