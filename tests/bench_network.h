// A network with every kind of op that is measured, on maps of 4 KiB (2 x 8 x 8 x 8 floats) and smaller.
#ifndef SPILLWAY_TESTS_BENCH_NETWORK_H_
#define SPILLWAY_TESTS_BENCH_NETWORK_H_

#include "model/network/network.h"
#include "model/zoo/network_builder.h"

namespace spillway {

inline Network EveryOp() {
  NetworkBuilder b("everything", {.n = 2, .c = 8, .h = 8, .w = 8});
  LayerId x = b.ConvolutionNormRelu("conv1", kNetworkInput, Square(8, 3, 1, 1));
  x = b.MaxPool("pool", b.Lrn("lrn", b.ConvolutionRelu("conv2", x, Square(8, 3, 1, 1))), Square(0, 2, 2));
  const LayerId left = b.Convolution("left", x, Square(8, 1));
  x = b.Concat("joined", {b.AddUp("sum", {left, x}), left});
  return b.Loss(b.Linear("fc", b.Dropout("drop", b.AveragePool("average", x, Square(0, 2, 2)), 0.5), 10));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_BENCH_NETWORK_H_
