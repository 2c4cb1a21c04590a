// Residual networks (He et al. 2016, arXiv 1512.03385, table 1). The stride of a stage is in the first 1x1
// convolution of its first block, as in the paper and in its Caffe definition, whose names are used. In version 1.5
// (torchvision's) it is in the 3x3 convolution.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {

namespace {

using Stages = std::array<int, 4>;  // blocks

// Beyond 152 the blocks go to the two middle stages in the proportion of ResNet-152 (3, 8, 36, 3).
Stages BottleneckStages(int depth) {
  if (depth == 50) return {3, 4, 6, 3};
  if (depth == 101) return {3, 4, 23, 3};
  const int middle = (depth - 2) / 3 - 6;
  const int second = middle * 8 / 44 > 0 ? middle * 8 / 44 : 1;
  return {3, second, middle - second, 3};
}

struct Block {
  int stage;           // 2..5, as in the names conv2_x ... conv5_x
  int index;           // in the stage
  std::int64_t width;  // channels of the inner convolutions
  bool projects;       // the shortcut is a convolution
  std::int64_t Stride() const { return stage > 2 && index == 0 ? 2 : 1; }
  std::string Name() const {
    return std::to_string(stage) +
           (index < 26 ? std::string(1, static_cast<char>('a' + index)) : "_" + std::to_string(index));
  }
};

class ResNetBuilder {
 public:
  ResNetBuilder(std::string name, const Shape& input, bool stride_in_3x3 = false)
      : b_(std::move(name), input), stride_in_3x3_(stride_in_3x3) {}

  Network Build(const Stages& stages, bool bottleneck, std::int64_t classes) {
    LayerId x = Normalised("conv1", "conv1", kNetworkInput, Square(64, 7, 2, 3), true);
    x = b_.MaxPool("pool1", x, Square(0, 3, 2, 1));
    for (int stage = 0; stage < 4; ++stage) {
      for (int index = 0; index < stages[static_cast<std::size_t>(stage)]; ++index) {
        const Block block{stage + 2, index, std::int64_t{64} << stage, index == 0 && (bottleneck || stage > 0)};
        x = bottleneck ? Bottleneck(block, x) : Basic(block, x);
      }
    }
    return b_.Loss(b_.Linear("fc" + std::to_string(classes), b_.GlobalAveragePool("pool5", x), classes));
  }

 private:
  LayerId Normalised(const std::string& conv, const std::string& suffix, LayerId from, const LayerAttributes& a,
                     bool relu) {
    const LayerId norm = b_.BatchNorm("bn_" + suffix, b_.Convolution(conv, from, a));
    return relu ? b_.Relu(conv + "_relu", norm) : norm;
  }

  LayerId Branch(const Block& block, const char* branch, LayerId from, const LayerAttributes& a, bool relu) {
    const std::string suffix = block.Name() + "_branch" + branch;
    return Normalised("res" + suffix, suffix, from, a, relu);
  }

  LayerId Join(const Block& block, LayerId input, LayerId main, std::int64_t out) {
    const LayerId shortcut = block.projects ? Branch(block, "1", input, Square(out, 1, block.Stride()), false) : input;
    const std::string name = "res" + block.Name();
    return b_.Relu(name + "_relu", b_.AddUp(name, {main, shortcut}));
  }

  LayerId Bottleneck(const Block& block, LayerId input) {
    const std::int64_t first = stride_in_3x3_ ? 1 : block.Stride(), second = stride_in_3x3_ ? block.Stride() : 1;
    LayerId x = Branch(block, "2a", input, Square(block.width, 1, first), true);
    x = Branch(block, "2b", x, Square(block.width, 3, second, 1), true);
    x = Branch(block, "2c", x, Square(4 * block.width, 1), false);
    return Join(block, input, x, 4 * block.width);
  }

  LayerId Basic(const Block& block, LayerId input) {
    LayerId x = Branch(block, "2a", input, Square(block.width, 3, block.Stride(), 1), true);
    x = Branch(block, "2b", x, Square(block.width, 3, 1, 1), false);
    return Join(block, input, x, block.width);
  }

  NetworkBuilder b_;
  bool stride_in_3x3_;
};

}  // namespace

Network BuildResNet(int depth, const ZooOptions& options) {
  ResNetBuilder builder("resnet" + std::to_string(depth), ImageInput(options, 224));
  const std::int64_t classes = ClassesOr(options, 1000);
  if (depth == 18) return builder.Build({2, 2, 2, 2}, false, classes);
  if (depth == 34) return builder.Build({3, 4, 6, 3}, false, classes);
  return builder.Build(BottleneckStages(depth), true, classes);
}

Network BuildResNetV15(int depth, const ZooOptions& options) {
  ResNetBuilder builder("resnet" + std::to_string(depth) + "-v1.5", ImageInput(options, 224), true);
  return builder.Build(BottleneckStages(depth), true, ClassesOr(options, 1000));
}

// ResNet-20 for 32x32 images (He et al. 2016, arXiv 1512.03385, section 4.2), small enough to train on a processor.
// Where channels change, the shortcut is a 1x1 convolution with batch norm (option B); the paper pads with zeros.

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
