// Small networks that can be trained, with what is easy to get wrong in kernels.
#ifndef SPILLWAY_TESTS_TRAINING_NETWORKS_H_
#define SPILLWAY_TESTS_TRAINING_NETWORKS_H_

#include "model/network/network.h"
#include "model/zoo/network_builder.h"

namespace spillway {

// Every layer kind, forks, tensors used twice; inputs of a concat that want no gradient or have parts of it already.
inline Network Everything() {
  NetworkBuilder b("everything", {.n = 4, .c = 3, .h = 12, .w = 12});
  const LayerId raw = b.AveragePool("raw", kNetworkInput, Square(0, 2, 2));  // needs no gradient
  const LayerId stem = b.ConvolutionRelu("stem", kNetworkInput, Square(8, 3, 2, 1));
  const LayerId left = b.Relu("left_relu", b.Lrn("left", stem));
  const LayerId right = b.ConvolutionNormRelu("right", stem, Square(8, 3, 1, 1));
  const LayerId twice = b.AddUp("twice", {left, left});
  const LayerId sum = b.AddUp("sum", {twice, right, stem});
  const LayerId all = b.Concat("all", {right, raw, sum, left, left});
  const LayerId late = b.AddUp("late", {b.Convolution("mix", all, Square(8, 1)), right});
  const LayerId pooled = b.MaxPool("pool", late, Square(0, 3, 2));
  const LayerId dropped = b.Dropout("drop", b.Relu("relu", pooled), 0.3);
  return b.Loss(b.Linear("fc", b.AveragePool("average", dropped, Square(0, 2)), 4));
}

inline Network Deep() {
  NetworkBuilder b("deep", {.n = 2, .c = 2, .d = 4, .h = 6, .w = 6});
  const LayerAttributes cube{.out_channels = 4, .window = {3, 3, 3}, .pad = {1, 1, 1}};
  LayerAttributes grouped = cube;
  grouped.groups = 2;
  const LayerAttributes half{.window = {2, 2, 2}, .stride = {2, 2, 2}};
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, cube);
  x = b.ConvolutionNormRelu("conv2", b.MaxPool("pool", x, half), grouped);
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("average", x), 3));
}

// No two sizes alike: images, windows, strides and padding that are not square, sizes rounded up, a batch norm of the
// image, whose gradient nobody wants.
inline Network Uneven() {
  NetworkBuilder b("uneven", {.n = 2, .c = 3, .h = 11, .w = 14});
  LayerId x = b.BatchNorm("norm", kNetworkInput);
  x = b.ConvolutionRelu("tall", x, {.out_channels = 6, .window = {1, 5, 3}, .stride = {1, 2, 1}, .pad = {0, 2, 0}});
  x = b.Lrn("lrn", x);
  x = b.MaxPool("max", x, {.window = {1, 2, 3}, .stride = {1, 1, 2}, .pad = {0, 1, 0}, .ceil_mode = true});
  x = b.Convolution("wide", x, {.out_channels = 4, .window = {1, 1, 3}, .pad = {0, 0, 2}, .groups = 2, .bias = true});
  x = b.AveragePool("average", x, {.window = {1, 3, 2}, .stride = {1, 2, 1}, .pad = {0, 1, 1}, .ceil_mode = true});
  return b.Loss(b.Linear("fc", b.Dropout("drop", x, 0.4), 5));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TRAINING_NETWORKS_H_
