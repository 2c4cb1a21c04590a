// One oneDNN primitive with the reorders around it. Private to calibrate/devices/cpu/.
//
// oneDNN 2.x. Two traps of it: a primitive_desc's next_impl() reads the operation descriptor and the hint again, which
// therefore must outlive it; and copies of a primitive_desc are one object, so that next_impl() changes them all.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_DNNL_KERNEL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_DNNL_KERNEL_H_
#if __has_include(<dnnl.hpp>)  // every header compiles by itself, without oneDNN too

#include <cstddef>
#include <dnnl.hpp>
#include <string>
#include <vector>

#include "calibrate/devices/cpu/kernels.h"

namespace spillway::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

const dnnl::engine& Engine();
const dnnl::primitive_attr& UserScratch();  // the caller provides scratch memory

Desc Dense(const Dims& dims);      // fp32, row by row in the order of `dims`
Desc AnyFormat(const Dims& dims);  // fp32, the primitive chooses
// Sizes as {n, c, h, w}, or {n, c, d, h, w} if `with_depth`.
Dims DimsOf(const Shape& shape, bool with_depth);
Dims Spatial(const std::array<std::int64_t, 3>& triple, bool with_depth);

// The first implementation for an operation descriptor of oneDNN (`dnnl::xxx::desc`).
template <typename Operation>
dnnl::primitive_desc FirstImplementation(const Operation& operation, const dnnl::primitive_desc_base* hint = nullptr) {
  return dnnl::primitive_desc(&operation.data, &UserScratch(), Engine(), hint == nullptr ? nullptr : hint->get());
}

// How an argument of the primitive is tied to a buffer of the op.
struct Binding {
  enum class Role { kRead, kWrite, kUnwanted };  // kUnwanted: a result that the op has no buffer for
  int argument = 0;                              // DNNL_ARG_...
  Role role = Role::kRead;
  std::size_t index = 0;  // into reads or writes
  Desc dense;             // layout of the buffer
};
// The argument is reads[index] or writes[index] of the op, laid out as `dense`; or a result that the primitive insists on.
inline Binding Reads(int argument, std::size_t index, const Desc& dense) {
  return {argument, Binding::Role::kRead, index, dense};
}
inline Binding Writes(int argument, std::size_t index, const Desc& dense) {
  return {argument, Binding::Role::kWrite, index, dense};
}
inline Binding Unwanted(int argument, const Desc& dense) { return {argument, Binding::Role::kUnwanted, 0, dense}; }

// Workspace: reordered operands one after another, then scratch, which primitive and reorders use in turn. Sizes of all of
// these are known when it is made: Run() allocates nothing. Refers to nothing that is not its own.
class DnnlKernel : public CpuKernel {
 public:
  // `accumulate`: adds its result to what writes[0] holds.
  DnnlKernel(const dnnl::primitive_desc& primitive, const std::vector<Binding>& bindings, bool accumulate);
  void Run(const CpuArguments& arguments) const override;

 private:
  struct Operand {
    Binding binding;
    Desc desc;                // as the primitive wants it
    Bytes offset = -1;        // of its reordered copy in the workspace; -1: the op's buffer is used as it is
    dnnl::primitive reorder;  // to or from the copy; empty where it needs none
    Desc reorder_scratch;
  };
  void AddOperand(const dnnl::primitive_desc& primitive, const Binding& binding, bool accumulate);
  void MakeReorder(Operand& operand, const Desc& from, const Desc& to, bool accumulate);
  void Reserve(const Desc& scratch);
  void RunReorder(const Operand& operand, const CpuArguments& arguments) const;
  void* At(const CpuArguments& arguments, Bytes offset) const;

  dnnl::primitive primitive_;
  std::vector<Operand> operands_;
  Desc scratch_;
  Bytes scratch_offset_ = 0, scratch_bytes_ = 0;
};

}  // namespace spillway::cpu

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_KERNELS_DNNL_KERNEL_H_
