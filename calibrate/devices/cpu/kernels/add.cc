// Element-wise sums, two operands at a time by oneDNN.
#include <cstring>

#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

class Add : public CpuKernel {
 public:
  explicit Add(const OpCall& call)
      : slices_(call.details.slices), accumulate_(call.launch.accumulate), elements_(call.launch.shape.in.Elements()) {
    const Desc data = Dense({elements_});
    const dnnl::binary::desc operation(dnnl::algorithm::binary_add, data, data, data);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC_0, 0, data), Reads(DNNL_ARG_SRC_1, 1, data),
                                        Writes(DNNL_ARG_DST, 0, data)};
    sum_ = std::make_unique<DnnlKernel>(FirstImplementation(operation), bindings, false);
    workspace_ = sum_->workspace();
    implementation_ = sum_->implementation();
  }

  // The result may lie where the first operand does, or where one that is not the first lies if it is added to.
  void Run(const CpuArguments& arguments) const override {
    void* const result = arguments.writes[0];
    std::size_t next = 0;
    void* sum = accumulate_ ? result : arguments.reads[slices_[next++].operand];
    for (; next < slices_.size(); ++next) {
      const std::array<void*, 2> operands{sum, arguments.reads[slices_[next].operand]};
      CpuArguments pair = arguments;
      pair.reads = operands;
      sum_->Run(pair);
      sum = result;
    }
    if (sum != result) std::memcpy(result, sum, sizeof(float) * static_cast<std::size_t>(elements_));
  }

 private:
  std::vector<OpSlice> slices_;
  bool accumulate_;
  std::int64_t elements_;
  std::unique_ptr<DnnlKernel> sum_;
};

}  // namespace

KernelPtr MakeAdd(const OpCall& call) { return std::make_unique<Add>(call); }

}  // namespace spillway::cpu
