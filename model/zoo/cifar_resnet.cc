// ResNet-20 for 32x32 images (He et al. 2016, arXiv 1512.03385, section 4.2), small enough to train on a processor.
// Where channels change, the shortcut is a 1x1 convolution with batch norm (option B); the paper pads with zeros.
#include "model/network/network_builder.h"

namespace spillway {
namespace {

LayerId AddBlock(NetworkBuilder& b, const std::string& name, LayerId input, std::int64_t channels, std::int64_t stride,
                 bool projects) {
  LayerId x = b.ConvolutionNormRelu(name + "_1", input, Square(channels, 3, stride, 1));
  x = b.ConvolutionNormRelu(name + "_2", x, Square(channels, 3, 1, 1), false);
  if (projects) input = b.ConvolutionNormRelu(name + "_3", input, Square(channels, 1, stride), false);
  return b.Relu(name + "_relu", b.AddUp(name, {x, input}));
}

}  // namespace

Network BuildCifarResNet20(const ZooOptions& options) {
  NetworkBuilder b("cifar-resnet20", ImageInput(options, 32));
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, Square(16, 3, 1, 1));
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < 3; ++i) {
      const std::string name = "res" + std::to_string(stage + 2) + "_" + std::to_string(i + 1);
      const bool first = stage > 0 && i == 0;
      x = AddBlock(b, name, x, std::int64_t{16} << stage, first ? 2 : 1, first);
    }
  }
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool", x), ClassesOr(options, 10)));
}

}  // namespace spillway
