// AlexNet (Krizhevsky et al. 2012) as in Chainer's ImageNet example, which PoocH measured: one tower instead of two,
// ReLU before LRN before pooling. Chainer's pooling covers all of its input (ceil); at 227x227 all sizes are exact.
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {

Network BuildAlexNet(const ZooOptions& options) {
  NetworkBuilder b("alexnet", ImageInput(options, 227));
  const LayerAttributes pool = WithCeil(Square(0, 3, 2));
  LayerId x = b.ConvolutionRelu("conv1", kNetworkInput, Square(96, 11, 4));
  x = b.MaxPool("pool1", b.Lrn("norm1", x), pool);
  x = b.ConvolutionRelu("conv2", x, Square(256, 5, 1, 2));
  x = b.MaxPool("pool2", b.Lrn("norm2", x), pool);
  x = b.ConvolutionRelu("conv3", x, Square(384, 3, 1, 1));
  x = b.ConvolutionRelu("conv4", x, Square(384, 3, 1, 1));
  x = b.ConvolutionRelu("conv5", x, Square(256, 3, 1, 1));
  x = b.MaxPool("pool5", x, pool);
  x = b.Dropout("drop6", b.Relu("relu_fc6", b.Linear("fc6", x, 4096)), 0.5);
  x = b.Dropout("drop7", b.Relu("relu_fc7", b.Linear("fc7", x, 4096)), 0.5);
  return b.Loss(b.Linear("fc8", x, ClassesOr(options, 1000)));
}

// Small enough for a processor: 5x5 convolutions at 32x32 with everything that AlexNet has.
Network BuildCifarAlexNet(const ZooOptions& options) {
  NetworkBuilder b("cifar-alexnet", ImageInput(options, 32));
  const LayerAttributes pool = WithCeil(Square(0, 3, 2));
  LayerId x = b.ConvolutionRelu("conv1", kNetworkInput, Square(64, 5, 1, 2));
  x = b.MaxPool("pool1", b.Lrn("norm1", x), pool);
  x = b.ConvolutionRelu("conv2", x, Square(64, 5, 1, 2));
  x = b.MaxPool("pool2", b.Lrn("norm2", x), pool);
  x = b.Dropout("drop3", b.Relu("relu_fc3", b.Linear("fc3", x, 384)), 0.5);
  x = b.Relu("relu_fc4", b.Linear("fc4", x, 192));
  return b.Loss(b.Linear("fc5", x, ClassesOr(options, 10)));
}

// OverFeat, the fast model (Sermanet et al. 2014, arXiv 1312.6229, table 1).

Network BuildOverFeat(const ZooOptions& options) {
  NetworkBuilder b("overfeat", ImageInput(options, 231));
  LayerId x = b.ConvolutionRelu("conv1", kNetworkInput, Square(96, 11, 4));
  x = b.MaxPool("pool1", x, Square(0, 2, 2));
  x = b.ConvolutionRelu("conv2", x, Square(256, 5));
  x = b.MaxPool("pool2", x, Square(0, 2, 2));
  x = b.ConvolutionRelu("conv3", x, Square(512, 3, 1, 1));
  x = b.ConvolutionRelu("conv4", x, Square(1024, 3, 1, 1));
  x = b.ConvolutionRelu("conv5", x, Square(1024, 3, 1, 1));
  x = b.MaxPool("pool5", x, Square(0, 2, 2));
  x = b.Dropout("drop6", b.Relu("relu_fc6", b.Linear("fc6", x, 3072)), 0.5);
  x = b.Dropout("drop7", b.Relu("relu_fc7", b.Linear("fc7", x, 4096)), 0.5);
  return b.Loss(b.Linear("fc8", x, ClassesOr(options, 1000)));
}

}  // namespace spillway
