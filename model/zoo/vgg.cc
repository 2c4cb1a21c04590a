// VGG (Simonyan and Zisserman 2015, arXiv 1409.1556, column D) and the deep variants of Rhu et al. 2016 (vDNN,
// arXiv 1602.08124): every 100 more layers put 20 more 3x3 convolutions into each of the five groups.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

// Convolutions conv<group>_<index> of one group, then the pooling that halves the image.
LayerId Group(NetworkBuilder& b, int group, int convolutions, std::int64_t channels, LayerId x) {
  const std::string number = std::to_string(group);
  for (int i = 1; i <= convolutions; ++i) {
    x = b.ConvolutionRelu("conv" + number + "_" + std::to_string(i), x, Square(channels, 3, 1, 1));
  }
  return b.MaxPool("pool" + number, x, Square(0, 2, 2));
}

}  // namespace

Network BuildVgg(int depth, const ZooOptions& options) {
  NetworkBuilder b("vgg" + std::to_string(depth), ImageInput(options, 224));
  const std::array<int, 5> convolutions{2, 2, 3, 3, 3};
  const std::array<std::int64_t, 5> channels{64, 128, 256, 512, 512};
  LayerId x = kNetworkInput;
  for (std::size_t group = 0; group < 5; ++group) {
    x = Group(b, static_cast<int>(group) + 1, convolutions[group] + (depth - 16) / 5, channels[group], x);
  }
  x = b.Dropout("drop6", b.Relu("relu_fc6", b.Linear("fc6", x, 4096)), 0.5);
  x = b.Dropout("drop7", b.Relu("relu_fc7", b.Linear("fc7", x, 4096)), 0.5);
  return b.Loss(b.Linear("fc8", x, ClassesOr(options, 1000)));
}

Network BuildCifarVgg(const ZooOptions& options) {
  NetworkBuilder b("cifar-vgg", ImageInput(options, 32));
  LayerId x = Group(b, 1, 2, 64, kNetworkInput);
  x = Group(b, 2, 2, 128, x);
  x = Group(b, 3, 2, 256, x);
  x = b.Dropout("drop4", b.Relu("relu_fc4", b.Linear("fc4", x, 256)), 0.5);
  return b.Loss(b.Linear("fc5", x, ClassesOr(options, 10)));
}

}  // namespace spillway
