// The kinds of kernels by file: one function each, listed by kernels.cc. Private to calibrate/devices/cpu/.
//
// Makers throw dnnl::error where oneDNN refuses; CpuKernels turns that into a UserError that names the op.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MAKERS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MAKERS_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/devices/cpu/kernels.h"

namespace spillway::cpu {

using KernelPtr = std::unique_ptr<CpuKernel>;

// One for each kind of op, MakeConvolution to MakeUpdate, each with the kind's own file. MakeConvolution: launch.algorithm
// chooses; null if the library has no such algorithm for the shape.
#define OP_KIND(KIND, ...) KernelPtr Make##KIND(const OpCall& call);
#include "model/step/op_kinds.inc"
#undef OP_KIND
// Of a convolution; of a transposed one what AsConvolution makes of it.
std::vector<CpuAlgorithm> ConvolutionAlgorithms(const OpCall& call);

// A kernel that is a loop over its buffers.
class LoopKernel : public CpuKernel {
 public:
  using Body = std::function<void(const CpuArguments&)>;
  explicit LoopKernel(Body body, Bytes workspace = 0) : body_(std::move(body)) { workspace_ = workspace; }
  void Run(const CpuArguments& arguments) const override { body_(arguments); }

 private:
  Body body_;
};

inline const float* Read(const CpuArguments& a, std::size_t k) { return static_cast<const float*>(a.reads[k]); }
inline float* Write(const CpuArguments& a, std::size_t k) { return static_cast<float*>(a.writes[k]); }

}  // namespace spillway::cpu

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_MAKERS_H_
