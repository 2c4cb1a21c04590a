// Concatenation along channels: one row per image, copied between pitches; gradients that are added to by cuDNN.
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

class Concat : public Kernel {
 public:
  Concat(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "cudaMemcpy2DAsync"),
        slices_(call.details.slices),
        forward_(call.launch.pass == Pass::kForward),
        accumulate_(call.launch.accumulate && !forward_),
        images_(call.launch.shape.out.n),
        positions_(call.launch.shape.out.Spatial()),
        channels_(call.details.whole.c) {
    if (!accumulate_) return;
    for (const OpSlice& slice : slices_) {
      if (slice.operand == 0) DescribeSum(slice);
    }
  }

 protected:
  // Backward reads {gradient of the whole}; only the first gradient is added to.
  void Launch(const CudaArguments& a) const override {
    for (const OpSlice& slice : slices_) {
      const std::int64_t offset = slice.box.begin[kChannelAxis] * positions_;
      if (forward_) {
        CopyRows(Write(a, 0) + offset, channels_, Read(a, slice.operand), slice.box.Size(kChannelAxis),
                 slice.box.Size(kChannelAxis));
      } else if (accumulate_ && slice.operand == 0) {
        SPILLWAY_CHECK(cudnnAddTensor(libraries().cudnn(), &kOne, part_.get(), Read(a, 0) + offset, &kOne,
                                      gradient_.get(), Write(a, 0)));
      } else {
        CopyRows(Write(a, slice.operand), slice.box.Size(kChannelAxis), Read(a, 0) + offset, channels_,
                 slice.box.Size(kChannelAxis));
      }
    }
  }

 private:
  void DescribeSum(const OpSlice& slice) {
    SetDense(gradient_, {images_, slice.box.Size(kChannelAxis), 1, positions_});
    const int positions = IntOf(positions_);
    SPILLWAY_CHECK(cudnnSetTensor4dDescriptorEx(part_.get(), CUDNN_DATA_FLOAT, IntOf(images_),
                                                IntOf(slice.box.Size(kChannelAxis)), 1, positions,
                                                IntOf(channels_ * positions_), positions, positions, 1));
  }

  // Pitches and widths in channels.
  void CopyRows(float* to, std::int64_t to_pitch, const float* from, std::int64_t from_pitch,
                std::int64_t width) const {
    const auto bytes = [&](std::int64_t channels) {
      return static_cast<std::size_t>(channels * positions_) * sizeof(float);
    };
    SPILLWAY_CHECK(cudaMemcpy2DAsync(to, bytes(to_pitch), from, bytes(from_pitch), bytes(width),
                                     static_cast<std::size_t>(images_), cudaMemcpyDeviceToDevice,
                                     libraries().stream()));
  }

  std::vector<OpSlice> slices_;
  bool forward_, accumulate_;
  std::int64_t images_, positions_, channels_;
  TensorDescriptor part_, gradient_;  // of the sum: a piece of the whole's gradient, and what it is added to
};

}  // namespace

KernelPtr MakeConcat(const LibrariesPtr& libraries, const OpCall& call) {
  return std::make_unique<Concat>(libraries, call);
}

}  // namespace spillway::cuda
