#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace spillway::cpu {
namespace {

constexpr Bytes kAlignment = 64;  // a cache line, and the widest vector

Bytes DescSize(const Desc& desc) { return static_cast<Bytes>(desc.get_size()); }

dnnl::primitive_attr MakeUserScratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void* BufferOf(const Binding& binding, const CpuArguments& arguments) {
  return binding.role == Binding::Role::kRead ? arguments.reads[binding.index] : arguments.writes[binding.index];
}

// Each thread has a stream of its own: they are cheap, and CPU streams run what they are given at once.
dnnl::stream& CpuStream() {
  thread_local dnnl::stream stream(Engine());
  return stream;
}

Desc ByStrides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return {dims, dnnl::memory::data_type::f32, strides};
}

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const dnnl::primitive_attr& UserScratch() {
  static const dnnl::primitive_attr attributes = MakeUserScratch();
  return attributes;
}

Desc Dense(const Dims& dims) { return ByStrides(dims); }
Desc AnyFormat(const Dims& dims) { return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any}; }

Dims DimsOf(const Shape& shape, bool with_depth) {
  if (with_depth) return {shape.n, shape.c, shape.d, shape.h, shape.w};
  return {shape.n, shape.c, shape.d * shape.h, shape.w};
}

Dims Spatial(const std::array<std::int64_t, 3>& triple, bool with_depth) {
  if (with_depth) return {triple[0], triple[1], triple[2]};
  return {triple[1], triple[2]};
}

DnnlKernel::DnnlKernel(const dnnl::primitive_desc& primitive, const std::vector<Binding>& bindings, bool accumulate) {
  const char* name = nullptr;
  dnnl_primitive_desc_query(primitive.get(), dnnl_query_impl_info_str, 0, &name);
  implementation_ = name == nullptr ? "oneDNN" : name;
  operands_.reserve(bindings.size());
  for (const Binding& binding : bindings) {
    const bool result = binding.role == Binding::Role::kWrite && binding.index == 0;
    AddOperand(primitive, binding, accumulate && result);
  }
  scratch_offset_ = workspace_;
  scratch_ = primitive.query_md(dnnl::query::exec_arg_md, DNNL_ARG_SCRATCHPAD);
  Reserve(scratch_);
  workspace_ = scratch_offset_ + scratch_bytes_;
  primitive_ = dnnl::primitive(primitive.get());
}

void DnnlKernel::AddOperand(const dnnl::primitive_desc& primitive, const Binding& binding, bool accumulate) {
  Operand operand;
  operand.binding = binding;
  operand.desc = primitive.query_md(dnnl::query::exec_arg_md, binding.argument);
  if (operand.desc.data.ndims == 0) operand.desc = binding.dense;  // some primitives do not tell what is no choice
  const bool unwanted = binding.role == Binding::Role::kUnwanted;
  if (unwanted || accumulate || operand.desc != binding.dense) {
    operand.offset = workspace_;
    workspace_ += RoundUp(DescSize(operand.desc), kAlignment);
    if (binding.role == Binding::Role::kRead) MakeReorder(operand, binding.dense, operand.desc, false);
    if (binding.role == Binding::Role::kWrite) MakeReorder(operand, operand.desc, binding.dense, accumulate);
  }
  operands_.push_back(operand);
}

void DnnlKernel::MakeReorder(Operand& operand, const Desc& from, const Desc& to, bool accumulate) {
  dnnl::primitive_attr attributes = MakeUserScratch();
  if (accumulate) {
    dnnl::post_ops add;
    add.append_sum();
    attributes.set_post_ops(add);
  }
  const dnnl::reorder::primitive_desc reorder(Engine(), from, Engine(), to, attributes);
  operand.reorder = dnnl::reorder(reorder);
  operand.reorder_scratch = reorder.scratchpad_desc();
  Reserve(operand.reorder_scratch);
}

void DnnlKernel::Reserve(const Desc& scratch) {
  scratch_bytes_ = std::max(scratch_bytes_, RoundUp(DescSize(scratch), kAlignment));
}

void* DnnlKernel::At(const CpuArguments& arguments, Bytes offset) const {
  assert(arguments.workspace != nullptr || workspace_ == 0);
  return static_cast<char*>(arguments.workspace) + offset;
}

void DnnlKernel::RunReorder(const Operand& operand, const CpuArguments& arguments) const {
  dnnl::memory dense(operand.binding.dense, Engine(), BufferOf(operand.binding, arguments));
  dnnl::memory copy(operand.desc, Engine(), At(arguments, operand.offset));
  const bool read = operand.binding.role == Binding::Role::kRead;
  std::unordered_map<int, dnnl::memory> tied{{DNNL_ARG_FROM, read ? dense : copy}, {DNNL_ARG_TO, read ? copy : dense}};
  tied.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(operand.reorder_scratch, Engine(), At(arguments, scratch_offset_)));
  operand.reorder.execute(CpuStream(), tied);
}

void DnnlKernel::Run(const CpuArguments& arguments) const {
  std::unordered_map<int, dnnl::memory> tied;
  for (const Operand& operand : operands_) {
    const Binding& binding = operand.binding;
    if (operand.reorder && binding.role == Binding::Role::kRead) RunReorder(operand, arguments);
    void* place = operand.offset < 0 ? BufferOf(binding, arguments) : At(arguments, operand.offset);
    tied.emplace(binding.argument, dnnl::memory(operand.desc, Engine(), place));
  }
  tied.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(scratch_, Engine(), At(arguments, scratch_offset_)));
  primitive_.execute(CpuStream(), tied);
  for (const Operand& operand : operands_) {
    if (operand.reorder && operand.binding.role == Binding::Role::kWrite) RunReorder(operand, arguments);
  }
}

}  // namespace spillway::cpu
