// SqueezeNets (Iandola et al. 2016, arXiv 1602.07360), as torchvision has them: 1.0 of the paper's table 1, and 1.1 with a
// smaller first convolution and earlier pooling.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Version {
  const char* name;
  std::int64_t stem, window;  // channels and window of the first convolution
  std::array<int, 2> pools;   // the fire modules behind which images are halved, from 2 on
};
constexpr Version kVersion10{"squeezenet1-0", 96, 7, {4, 8}};
constexpr Version kVersion11{"squeezenet1-1", 64, 3, {3, 5}};

// Channels of a fire module: 1x1 convolution of fewer channels, then 1x1 and 3x3 side by side.
struct Fire {
  std::int64_t squeeze, expand;
};
constexpr std::array<Fire, 8> kFires{
    {{16, 64}, {16, 64}, {32, 128}, {32, 128}, {48, 192}, {48, 192}, {64, 256}, {64, 256}}};

LayerId AddFire(NetworkBuilder& b, const std::string& name, LayerId x, const Fire& fire) {
  const LayerId squeezed = b.ConvolutionRelu(name + "_squeeze", x, Square(fire.squeeze, 1));
  return b.Concat(name, {b.ConvolutionRelu(name + "_1x1", squeezed, Square(fire.expand, 1)),
                         b.ConvolutionRelu(name + "_3x3", squeezed, Square(fire.expand, 3, 1, 1))});
}

Network Build(const Version& version, const ZooOptions& options) {
  NetworkBuilder b(version.name, ImageInput(options, 224));
  const LayerAttributes half = WithCeil(Square(0, 3, 2));
  LayerId x = b.ConvolutionRelu("conv1", kNetworkInput, Square(version.stem, version.window, 2));
  x = b.MaxPool("pool1", x, half);
  for (int number = 2; number <= 9; ++number) {
    x = AddFire(b, "fire" + std::to_string(number), x, kFires[static_cast<std::size_t>(number - 2)]);
    if (number == version.pools[0] || number == version.pools[1])
      x = b.MaxPool("pool" + std::to_string(number), x, half);
  }
  x = b.ConvolutionRelu("conv10", b.Dropout("drop9", x, 0.5), Square(ClassesOr(options, 1000), 1));
  return b.Loss(b.GlobalAveragePool("pool10", x));
}

}  // namespace

Network BuildSqueezeNet10(const ZooOptions& options) { return Build(kVersion10, options); }
Network BuildSqueezeNet11(const ZooOptions& options) { return Build(kVersion11, options); }

}  // namespace spillway
