// Kinds of ops that this plugin does not compute yet. It refuses them by name; a line leaves here as its kernel comes.
#include <string>

#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

[[noreturn]] void RefuseKind(OpKind kind) {
  Refuse("the CUDA device has no kernel for ops of kind " + std::string(OpKindName(kind)) +
         " yet; the CPU device has (--device cpu)");
}

}  // namespace

#define REFUSED(KIND) \
  KernelPtr Make##KIND(const LibrariesPtr&, const OpCall& call) { RefuseKind(call.launch.kind); }
REFUSED(Resize)
REFUSED(Slice)
REFUSED(Activation)
REFUSED(Prelu)
REFUSED(Scale)
REFUSED(Multiply)
REFUSED(GroupNorm)
REFUSED(LayerNorm)
REFUSED(Softmax)
REFUSED(Product)
REFUSED(Attention)
REFUSED(Embedding)
REFUSED(Position)
REFUSED(ClassToken)
REFUSED(Rope)
REFUSED(Rearrange)
REFUSED(ScoreBias)
REFUSED(PlaneAdd)
REFUSED(PairLoss)
REFUSED(DiceLoss)
#undef REFUSED

// The CPU device has none either.
KernelPtr MakeCast(const LibrariesPtr&, const OpCall&) { Refuse("the CUDA device has no casts between types yet"); }
KernelPtr MakeForeach(const LibrariesPtr&, const OpCall&) {
  Refuse(
      "the CUDA device has no kernel for optimizers but sgd and sgd-momentum, and none for scaled or clipped "
      "gradients");
}

}  // namespace spillway::cuda
