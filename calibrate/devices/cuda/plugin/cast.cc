// Ops that this device refuses: casts, and an optimizer's passes over lists of tensors.
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {

KernelPtr MakeCast(const LibrariesPtr&, const OpCall&) { Refuse("the CUDA device has no casts between types yet"); }
KernelPtr MakeForeach(const LibrariesPtr&, const OpCall&) {
  Refuse(
      "the CUDA device has no kernel for optimizers but sgd and sgd-momentum, and none for scaled or clipped "
      "gradients");
}

}  // namespace spillway::cuda
