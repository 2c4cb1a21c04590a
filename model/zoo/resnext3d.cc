// ResNeXt-101 for video: 3-D convolutions in 32 groups (Hara et al. 2018, arXiv 1711.09577).
//
// Two definitions. The model file published with PoocH (Ito et al. 2019) has 3-24-36-3 blocks, the stride of a stage
// in the first 1x1x1 convolution and a bias on the first convolution. The usual one has 3-4-23-3 blocks and the stride
// in the 3x3x3 convolution.
#include <array>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

struct Definition {
  const char* name;
  std::array<int, 4> blocks;
  bool stride_first;  // in the 1x1x1 convolution
  bool bias;          // of conv1
  std::int64_t image, frames, classes;
};

LayerAttributes Cube(std::int64_t out, std::int64_t window, std::int64_t stride = 1, std::int64_t groups = 1) {
  LayerAttributes a{.out_channels = out, .window = {window, window, window}, .stride = {stride, stride, stride}};
  a.pad = {window / 2, window / 2, window / 2};
  a.groups = groups;
  return a;
}

LayerId AddBlock(NetworkBuilder& b, const Definition& net, const std::string& name, LayerId input, std::int64_t width,
                 std::int64_t stride, bool projects) {
  LayerId x = b.ConvolutionNormRelu(name + "_1", input, Cube(width, 1, net.stride_first ? stride : 1));
  x = b.ConvolutionNormRelu(name + "_2", x, Cube(width, 3, net.stride_first ? 1 : stride, 32));
  x = b.ConvolutionNormRelu(name + "_3", x, Cube(2 * width, 1), false);
  if (projects) input = b.ConvolutionNormRelu(name + "_4", input, Cube(2 * width, 1, stride), false);
  return b.Relu(name + "_relu", b.AddUp(name, {x, input}));
}

Network BuildVideoNet(const Definition& net, const ZooOptions& options) {
  Shape input = ImageInput(options, net.image);
  input.d = options.frames != 0 ? options.frames : net.frames;
  NetworkBuilder b(net.name, input);
  LayerAttributes first{.out_channels = 64, .window = {7, 7, 7}, .stride = {1, 2, 2}, .pad = {3, 3, 3}};
  first.bias = net.bias;
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, first);
  x = b.MaxPool("pool1", x, Cube(0, 3, 2));
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < net.blocks[static_cast<std::size_t>(stage)]; ++i) {
      const std::string name = "res" + std::to_string(stage + 2) + "_" + std::to_string(i + 1);
      x = AddBlock(b, net, name, x, std::int64_t{128} << stage, stage > 0 && i == 0 ? 2 : 1, i == 0);
    }
  }
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("pool5", x), ClassesOr(options, net.classes)));
}

}  // namespace

Network BuildResNext101Pooch(const ZooOptions& options) {
  return BuildVideoNet({"resnext101-3d", {3, 24, 36, 3}, true, true, 224, 128, 1000}, options);
}

Network BuildResNext101(const ZooOptions& options) {
  return BuildVideoNet({"resnext101-3d-usual", {3, 4, 23, 3}, false, false, 112, 16, 400}, options);
}

}  // namespace spillway
