// OverFeat, the fast model (Sermanet et al. 2014, arXiv 1312.6229, table 1).
#include "model/network/network_builder.h"

namespace spillway {

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
