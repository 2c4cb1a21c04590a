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

inline Network Volume() {
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

// Dilated, and up by transposed convolutions: grouped, with places more at the end, with gradients that add up.
inline Network UpAndDown() {
  NetworkBuilder b("up-and-down", {.n = 2, .c = 3, .h = 7, .w = 8});
  LayerAttributes dilated = Square(4, 3, 1, 2), up = WithBias(Square(6, 3, 2, 1));
  dilated.dilation = {1, 2, 2};
  up.groups = 2;
  up.output_pad = {0, 1, 1};
  const LayerId x = b.ConvolutionRelu("dilated", kNetworkInput, dilated);
  const LayerId left = b.Add("left", "transposed_convolution", {x}, up);  // 14 x 16
  const LayerId right = b.UpConvolution("right", x, Square(6, 2));
  return b.Loss(b.Linear("fc", b.GlobalAveragePool("average", b.AddUp("sum", {left, right})), 3));
}

// From image to image: skips that are cropped or resized, dilated and one-sided windows, transposed convolutions with
// groups and with places more at the end, and two losses of different weight.
inline Network TinyUNet() {
  NetworkBuilder b("tiny-unet", {.n = 2, .c = 2, .h = 13, .w = 11});
  LayerAttributes one_sided = WithBias(Square(4, 3, 2)), dilated = WithBias(Square(6, 3, 1, 2));
  one_sided.pad_after = {-1, 1, 2};
  dilated.dilation = {1, 2, 2};
  const LayerId top = b.ConvolutionRelu("top", kNetworkInput, Square(4, 3, 1, 1));
  const LayerId half = b.Relu("relu_half", b.Convolution("half", top, one_sided));
  const LayerId bottom = b.Relu("relu_bottom", b.Convolution("bottom", half, dilated));
  LayerAttributes grouped = Square(4, 2, 2);
  grouped.groups = 2;
  const LayerId up = b.UpConvolution("up", bottom, grouped);  // of 6 x 6 to 12 x 12
  const LayerId cut = b.Add("cut", "crop", {up}, {.image = {0, 10, 11}});
  const LayerId skip = b.Add("skip", "crop", {top, cut});
  const LayerId deep = b.Add("deep", "resize", {bottom, cut}, {.linear = true});
  const LayerId wide = b.Add("wide", "resize", {half}, {.scale = {1, 2, 2}});
  const LayerId near = b.Add("near", "crop", {wide, cut});
  const LayerId joined = b.Concat("join", {skip, cut, deep, near, b.Add("up_again", "crop", {up, cut})});
  LayerAttributes odd = Square(3, 3, 2, 1);
  odd.output_pad = {0, 1, 0};
  const LayerId low = b.Add("low", "transposed_convolution", {half}, odd);
  b.AddLoss("low_loss", low, 0.5);
  b.AddLoss("loss", b.Convolution("head", joined, WithBias(Square(3, 1))), 1);
  return b.Finish();
}

inline Network TinyUNet3d() {
  NetworkBuilder b("tiny-unet-3d", {.n = 2, .c = 1, .d = 4, .h = 6, .w = 5});
  const LayerAttributes cube{.out_channels = 3, .window = {3, 3, 3}, .pad = {1, 1, 1}};
  LayerAttributes half = cube;
  half.stride = {2, 2, 2};
  half.bias = true;
  const LayerId top = b.ConvolutionNormRelu("top", kNetworkInput, cube);
  const LayerId bottom = b.Relu("relu_bottom", b.Convolution("bottom", top, half));
  const LayerId up = b.UpConvolution("up", bottom, {.out_channels = 3, .window = {2, 2, 2}});  // 4 x 6 x 6
  const LayerId cut = b.Add("cut", "crop", {up, top});
  const LayerId deep = b.Add("deep", "resize", {bottom, top}, {.linear = true});
  const LayerId joined = b.ConvolutionRelu("decoder", b.Concat("join", {top, cut, deep}), cube);
  b.AddLoss("loss", b.Convolution("head", joined, {.out_channels = 2}), 0.75);
  b.AddLoss("low_loss", b.Convolution("low_head", bottom, {.out_channels = 2}), 0.25);
  return b.Finish();
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TRAINING_NETWORKS_H_
