// A fully convolutional network (Long et al. 2015, arXiv 1411.4038), as torchvision has it: ResNet-50 with its stride in the
// 3x3 convolutions, dilated instead of strided in its last two stages; a head and an auxiliary head on the stage before,
// both resized to the image. The auxiliary loss counts half, as in torchvision's reference training.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Stage {
  const char* name;
  int blocks;
  std::int64_t width, stride;
  std::int64_t first_dilation, dilation;  // of the first block, and of the others
};
constexpr std::array<Stage, 4> kStages{
    {{"2", 3, 64, 1, 1, 1}, {"3", 4, 128, 2, 1, 1}, {"4", 6, 256, 1, 1, 2}, {"5", 3, 512, 1, 2, 4}}};

LayerAttributes Dilated(std::int64_t channels, std::int64_t stride, std::int64_t dilation) {
  LayerAttributes a = Square(channels, 3, stride, dilation);
  a.dilation = {1, dilation, dilation};
  return a;
}

LayerId Block(NetworkBuilder& b, const std::string& name, LayerId input, const Stage& stage, bool first) {
  const std::int64_t stride = first ? stage.stride : 1, out = 4 * stage.width;
  LayerId x = b.ConvolutionNormRelu(name + "_1", input, Square(stage.width, 1));
  x = b.ConvolutionNormRelu(name + "_2", x,
                            Dilated(stage.width, stride, first ? stage.first_dilation : stage.dilation));
  x = b.ConvolutionNormRelu(name + "_3", x, Square(out, 1), false);
  if (first) input = b.ConvolutionNormRelu(name + "_shortcut", input, Square(out, 1, stride), false);
  return b.Relu(name + "_relu", b.AddUp(name, {x, input}));
}

LayerId Head(NetworkBuilder& b, const std::string& name, LayerId from, std::int64_t channels, std::int64_t classes) {
  LayerId x = b.ConvolutionNormRelu(name + "_1", from, Square(channels, 3, 1, 1));
  x = b.Convolution(name + "_2", b.Dropout(name + "_drop", x, 0.1), WithBias(Square(classes, 1)));
  LayerAttributes linear;
  linear.linear = true;
  return b.Add(name + "_resized", "resize", {x, kNetworkInput}, linear);
}

}  // namespace

Network BuildFcnResNet50(const ZooOptions& options) {
  NetworkBuilder b("fcn-resnet50", ImageInput(options, 520));
  LayerId x =
      b.MaxPool("pool1", b.ConvolutionNormRelu("conv1", kNetworkInput, Square(64, 7, 2, 3)), Square(0, 3, 2, 1));
  LayerId before = x;
  for (const Stage& stage : kStages) {
    before = x;
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string name = std::string("res") + stage.name + "_" + std::to_string(block + 1);
      x = Block(b, name, x, stage, block == 0);
    }
  }
  const std::int64_t classes = ClassesOr(options, 21);
  const LayerId head = Head(b, "head", x, 512, classes), auxiliary = Head(b, "auxiliary", before, 256, classes);
  b.AddLoss("loss", head, 1);
  b.AddLoss("auxiliary_loss", auxiliary, 0.5);
  return b.Finish();
}

}  // namespace spillway
