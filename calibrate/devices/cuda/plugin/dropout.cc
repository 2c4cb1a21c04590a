// Dropout by a kernel of our own: cuDNN's keeps a generator's state for each thread, which a recomputation would have to
// set back, and packs its mask in a way that it does not tell.
#include "calibrate/devices/cuda/plugin/kernel.h"
#include "calibrate/devices/cuda/plugin/own_kernels.h"

namespace spillway::cuda {
namespace {

class Dropout : public Kernel {
 public:
  Dropout(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "own"),
        elements_(call.launch.shape.in.Elements()),
        bound_(static_cast<std::uint64_t>(call.details.dropout_rate * 4294967296.0)),
        scale_(call.details.dropout_rate < 1 ? static_cast<float>(1 / (1 - call.details.dropout_rate)) : 0.0f),
        accumulate_(call.launch.accumulate) {}

 protected:
  std::int64_t elements_;
  std::uint64_t bound_;
  float scale_;
  bool accumulate_;
};

// Writes {result, mask}.
class Forward : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  void Launch(const CudaArguments& a) const override {
    const DropoutForward body{.x = Read(a, 0),
                              .y = Write(a, 0),
                              .mask = static_cast<std::uint8_t*>(a.writes[1]),
                              .elements = elements_,
                              .random_stream = a.random_stream,
                              .bound = bound_,
                              .scale = scale_};
    SPILLWAY_CHECK(LaunchElements(body, libraries().stream()));
  }
};

// Reads {mask, gradient}.
class Backward : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  void Launch(const CudaArguments& a) const override {
    const DropoutBackward body{.mask = static_cast<const std::uint8_t*>(a.reads[0]),
                               .dy = Read(a, 1),
                               .dx = Write(a, 0),
                               .elements = elements_,
                               .scale = scale_,
                               .accumulate = accumulate_};
    SPILLWAY_CHECK(LaunchElements(body, libraries().stream()));
  }
};

}  // namespace

KernelPtr MakeDropout(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.details.per_sample) Refuse("the CUDA device has no dropout of whole samples yet");
  if (call.details.mask_type != DataType::kBool) Refuse("the CUDA device keeps masks of dropout as bytes");
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call);
  return std::make_unique<Backward>(libraries, call);
}

}  // namespace spillway::cuda
