// Element-wise sums, two operands at a time.
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

class Add : public Kernel {
 public:
  Add(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "cudnnOpTensor"), slices_(call.details.slices), accumulate_(call.launch.accumulate) {
    SetPlanes(data_, call.launch.shape.in);
    SetAddition(addition_);
    elements_ = static_cast<std::size_t>(call.launch.shape.in.Elements());
  }

 protected:
  // The result may lie where the first operand does, or where one that is not the first lies if it is added to.
  void Launch(const CudaArguments& a) const override {
    std::size_t next = 0;
    const float* sum = accumulate_ ? Write(a, 0) : Read(a, slices_[next++].operand);
    for (; next < slices_.size(); ++next) {
      Sum(sum, Read(a, slices_[next].operand), Write(a, 0));
      sum = Write(a, 0);
    }
    if (sum == Write(a, 0)) return;
    SPILLWAY_CHECK(
        cudaMemcpyAsync(Write(a, 0), sum, elements_ * sizeof(float), cudaMemcpyDeviceToDevice, libraries().stream()));
  }

 private:
  void Sum(const float* left, const float* right, float* result) const {
    if (left == result) {
      SPILLWAY_CHECK(cudnnAddTensor(libraries().cudnn(), &kOne, data_.get(), right, &kOne, data_.get(), result));
      return;
    }
    SPILLWAY_CHECK(cudnnOpTensor(libraries().cudnn(), addition_.get(), &kOne, data_.get(), left, &kOne, data_.get(),
                                 right, &kZero, data_.get(), result));
  }

  std::vector<OpSlice> slices_;
  bool accumulate_;
  std::size_t elements_ = 0;
  TensorDescriptor data_;
  OpTensorDescriptor addition_;
};

}  // namespace

KernelPtr MakeAdd(const LibrariesPtr& libraries, const OpCall& call) { return std::make_unique<Add>(libraries, call); }

}  // namespace spillway::cuda
