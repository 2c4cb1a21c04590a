// Small networks that take milliseconds to train and have what is hard to train out of core.
#ifndef SPILLWAY_TESTS_SMALL_NETWORKS_H_
#define SPILLWAY_TESTS_SMALL_NETWORKS_H_

#include <string>
#include <vector>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {

// Every layer kind and what is hard about them, after GoogLeNet's modules: forks, concats, maps used twice, batch norm
// and dropout in the middle.
inline Network Modules() {
  NetworkBuilder b("modules", {.n = 8, .c = 3, .h = 16, .w = 16});
  LayerId x = b.Lrn("stem_norm", b.ConvolutionRelu("stem", kNetworkInput, Square(8, 3, 1, 1)));
  for (const char* name : {"a", "b"}) {
    const std::string module = name;
    const LayerId one = b.ConvolutionNormRelu(module + "_1x1", x, Square(8, 1));
    const LayerId three =
        b.ConvolutionNormRelu(module + "_3x3", b.Dropout(module + "_drop", one, 0.25), Square(8, 3, 1, 1));
    const LayerId pooled =
        b.Convolution(module + "_proj", b.MaxPool(module + "_pool", x, Square(0, 3, 1, 1)), Square(8, 1));
    x = b.AddUp(module + "_sum",
                {b.Concat(module, {one, three, pooled}), b.ConvolutionRelu(module + "_skip", x, Square(24, 1))});
  }
  return b.Loss(b.Linear("fc", b.Dropout("drop", b.AveragePool("average", x, Square(0, 4, 4)), 0.5), 10));
}

inline Network ResNet() { return BuildZooNetwork("cifar-resnet20", {.batch = 8, .image = 16}); }

// After VGG, without the parameters that most of it consists of.
inline Network Vgg() {
  NetworkBuilder b("vgg-like", {.n = 8, .c = 3, .h = 16, .w = 16});
  LayerId x = kNetworkInput;
  for (const char* block : {"1", "2", "3"}) {
    const std::string name = block;
    for (const char* layer : {"_1", "_2", "_3", "_4"})
      x = b.ConvolutionRelu("conv" + name + layer, x, Square(16, 3, 1, 1));
    x = b.MaxPool("pool" + name, x, Square(0, 2, 2));
  }
  x = b.Dropout("drop", b.Relu("relu4", b.Linear("fc4", x, 64)), 0.5);
  return b.Loss(b.Linear("fc5", x, 10));
}

// After AlexNet, with LRN behind layers that do not need most of the memory by themselves.
inline Network AlexNet() {
  NetworkBuilder b("alexnet-like", {.n = 8, .c = 3, .h = 16, .w = 16});
  LayerId x = b.MaxPool("pool1", b.ConvolutionRelu("conv1", kNetworkInput, Square(16, 5, 1, 2)), Square(0, 3, 2));
  x = b.Lrn("norm2", b.ConvolutionRelu("conv2", x, Square(48, 3, 1, 1)));
  x = b.ConvolutionRelu("conv3", x, Square(48, 3, 1, 1));
  x = b.Lrn("norm4", b.ConvolutionRelu("conv4", x, Square(48, 3, 1, 1)));
  x = b.Dropout("drop6", b.Relu("relu6", b.Linear("fc6", b.MaxPool("pool5", x, Square(0, 3, 2)), 32)), 0.5);
  return b.Loss(b.Linear("fc7", b.Dropout("drop7", b.Relu("relu7", b.Linear("fc7a", x, 32)), 0.5), 10));
}

struct SmallNetwork {
  const char* name;
  Network (*build)();
  const char* options;  // of the step
};
inline const std::vector<SmallNetwork> kNetworks = {
    {"resnet", ResNet, "chainer"}, {"vgg", Vgg, "torch"}, {"alexnet", AlexNet, "plain"}, {"modules", Modules, "plain"}};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SMALL_NETWORKS_H_
