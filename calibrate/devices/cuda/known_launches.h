// Launches that are no network's: what warms a device up, wakes its libraries, and tells whether its clocks agree.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_KNOWN_LAUNCHES_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_KNOWN_LAUNCHES_H_

#include "model/step/launch.h"

namespace spillway {

// One kernel that moves 8 bytes for each element.
inline Launch ReluOf(std::int64_t elements) {
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = {.n = 1, .c = elements};
  return launch;
}

// Of two square matrices, in fp32.
inline Launch ProductOf(std::int64_t size) {
  Launch launch;
  launch.kind = OpKind::kLinear;
  launch.shape.in = launch.shape.out = {.n = size, .c = size};
  return launch;
}

// ResNet-50's convolutions of 3x3 at 56x56, batch 32.
inline Launch ConvolutionOf(Pass pass) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = pass;
  launch.shape.in = launch.shape.out = {.n = 32, .c = 64, .h = 56, .w = 56};
  launch.shape.window = {1, 3, 3};
  launch.shape.pad = {0, 1, 1};
  return launch;
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_KNOWN_LAUNCHES_H_
