// Ops that this device refuses: casts, since it computes in one type, and an optimizer's passes over lists.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "hw/text/document.h"

namespace spillway::cpu {

KernelPtr MakeCast(const OpCall&) { throw UserError("the CPU device computes in fp32 only: it has no casts"); }

KernelPtr MakeForeach(const OpCall&) {
  throw UserError(
      "the CPU device has no kernel for optimizers but sgd and sgd-momentum, and none for scaled or clipped gradients");
}

}  // namespace spillway::cpu
