// This device computes in one type: it refuses casts.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "hw/text/document.h"

namespace spillway::cpu {

KernelPtr MakeCast(const OpCall&) { throw UserError("the CPU device computes in fp32 only: it has no casts"); }

}  // namespace spillway::cpu
