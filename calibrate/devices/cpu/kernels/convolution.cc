// Convolution by oneDNN. Its implementations fall into classes, which are the algorithms of this device by name:
//   direct    generated code on blocked layouts: reordered copies of input, weights and output as workspace
//   winograd  F(4x4, 3x3) (Lavin and Gray 2016, arXiv 1509.09308): the same and the transformed tiles
//   gemm      matrix products on the plain layout: an unfolded image as workspace
//   reference plain loops of oneDNN, for shapes that nothing else takes
// Each class is served by the first implementation of it in oneDNN's list, which is sorted by speed.
#include <algorithm>
#include <array>
#include <string_view>

#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"
#include "model/kernels/kernel_form.h"

namespace spillway::cpu {
namespace {

// In the order in which algorithm 0 tries them.
enum Class : std::size_t { kDirect, kWinograd, kGemm, kReference };
constexpr std::array<const char*, 4> kNames = {"direct", "winograd", "gemm", "reference"};

std::int32_t AlgorithmOf(Class type, Pass pass) { return AlgorithmByName(OpKind::kConvolution, pass, kNames[type]); }

struct Implementation {
  Class type;
  dnnl::primitive_desc primitive;
};

struct Problem {
  Dims in, weight, out, stride, dilation, pad_begin, pad_end;  // dilation: places left out between two
};

Problem ProblemOf(const OpShape& s) {
  const bool deep = s.in.d != 1 || s.out.d != 1 || s.window[0] != 1;
  Problem problem{.in = DimsOf(s.in, deep),
                  .weight = {s.out.c / s.groups, s.in.c / s.groups},
                  .out = DimsOf(s.out, deep),
                  .stride = Spatial(s.stride, deep),
                  .dilation = Spatial({s.dilation[0] - 1, s.dilation[1] - 1, s.dilation[2] - 1}, deep),
                  .pad_begin = Spatial(s.PadBegin(), deep),
                  .pad_end = Spatial(s.PadEnd(), deep)};
  if (s.groups > 1) problem.weight.insert(problem.weight.begin(), s.groups);
  const Dims window = Spatial(s.window, deep);
  problem.weight.insert(problem.weight.end(), window.begin(), window.end());
  return problem;
}

Class ClassOf(const dnnl::primitive_desc& primitive) {
  const char* text = nullptr;
  dnnl_primitive_desc_query(primitive.get(), dnnl_query_impl_info_str, 0, &text);
  const std::string_view name = text == nullptr ? "" : text;
  if (name.find("wino") != name.npos) return kWinograd;
  if (name.find("gemm") != name.npos && name.find("brgemm") == name.npos) return kGemm;
  return name.find("ref") != name.npos ? kReference : kDirect;
}

// next_impl() changes the object that all copies share: keep a clone.
dnnl::primitive_desc Clone(const dnnl::primitive_desc& primitive) {
  dnnl_primitive_desc_t clone = nullptr;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_clone(&clone, primitive.get()), "could not clone a primitive");
  dnnl::primitive_desc result;
  result.reset(clone);
  return result;
}

void Collect(const_dnnl_op_desc_t operation, const_dnnl_primitive_desc_t hint,
             std::vector<Implementation>& candidates) {
  dnnl::primitive_desc primitive(operation, &UserScratch(), Engine(), hint, true);
  if (!primitive) return;
  do {
    const Class type = ClassOf(primitive);
    const bool known =
        std::any_of(candidates.begin(), candidates.end(), [&](const Implementation& c) { return c.type == type; });
    if (!known) candidates.push_back({type, Clone(primitive)});
  } while (primitive.next_impl());
}

void CollectPass(Pass pass, dnnl::algorithm method, const Problem& p, std::vector<Implementation>& candidates) {
  using dnnl::algorithm;
  using dnnl::prop_kind;
  const Desc in = AnyFormat(p.in), weight = AnyFormat(p.weight), out = AnyFormat(p.out);
  if (pass == Pass::kForward) {
    const dnnl::convolution_forward::desc forward(prop_kind::forward_inference, method, in, weight, out, p.stride,
                                                  p.dilation, p.pad_begin, p.pad_end);
    return Collect(&forward.data, nullptr, candidates);
  }
  const dnnl::convolution_forward::desc hint(prop_kind::forward_training, algorithm::convolution_direct, in, weight,
                                             out, p.stride, p.dilation, p.pad_begin, p.pad_end);
  const dnnl::primitive_desc forward = FirstImplementation(hint);
  if (pass == Pass::kBackwardData) {
    const dnnl::convolution_backward_data::desc data(method, in, weight, out, p.stride, p.dilation, p.pad_begin,
                                                     p.pad_end);
    Collect(&data.data, forward.get(), candidates);
  } else {
    const dnnl::convolution_backward_weights::desc filter(method, in, weight, out, p.stride, p.dilation, p.pad_begin,
                                                          p.pad_end);
    Collect(&filter.data, forward.get(), candidates);
  }
}

std::vector<Implementation> Candidates(const OpCall& call, const Problem& problem) {
  std::vector<Implementation> candidates;
  CollectPass(call.launch.pass, dnnl::algorithm::convolution_direct, problem, candidates);
  CollectPass(call.launch.pass, dnnl::algorithm::convolution_winograd, problem, candidates);
  std::sort(candidates.begin(), candidates.end(),
            [](const Implementation& a, const Implementation& b) { return a.type < b.type; });
  if (candidates.size() > 1 && candidates.back().type == kReference) candidates.pop_back();
  return candidates;
}

// Forward reads {input, weight}; data {weight, gradient}; filter {input, gradient}.
std::vector<Binding> Bindings(Pass pass, const Problem& p) {
  const Desc in = Dense(p.in), weight = Dense(p.weight), out = Dense(p.out);
  switch (pass) {
    case Pass::kForward:
      return {Reads(DNNL_ARG_SRC, 0, in), Reads(DNNL_ARG_WEIGHTS, 1, weight), Writes(DNNL_ARG_DST, 0, out)};
    case Pass::kBackwardData:
      return {Reads(DNNL_ARG_WEIGHTS, 0, weight), Reads(DNNL_ARG_DIFF_DST, 1, out), Writes(DNNL_ARG_DIFF_SRC, 0, in)};
    default:
      return {Reads(DNNL_ARG_SRC, 0, in), Reads(DNNL_ARG_DIFF_DST, 1, out), Writes(DNNL_ARG_DIFF_WEIGHTS, 0, weight)};
  }
}

}  // namespace

KernelPtr MakeConvolution(const OpCall& call) {
  const Problem problem = ProblemOf(call.launch.shape);
  for (const Implementation& candidate : Candidates(call, problem)) {
    if (AlgorithmOf(candidate.type, call.launch.pass) != call.launch.algorithm) continue;
    return std::make_unique<DnnlKernel>(candidate.primitive, Bindings(call.launch.pass, problem),
                                        call.launch.accumulate);
  }
  return nullptr;
}

KernelPtr MakeTransposedConvolution(const OpCall& call) {
  return MakeConvolution({AsConvolution(call.launch), call.details});
}

std::vector<CpuAlgorithm> ConvolutionAlgorithms(const OpCall& call) {
  const Problem problem = ProblemOf(call.launch.shape);
  std::vector<CpuAlgorithm> algorithms;
  for (const Implementation& candidate : Candidates(call, problem)) {
    const DnnlKernel kernel(candidate.primitive, Bindings(call.launch.pass, problem), call.launch.accumulate);
    algorithms.push_back({AlgorithmOf(candidate.type, call.launch.pass), kernel.workspace(), kernel.implementation()});
  }
  return algorithms;
}

}  // namespace spillway::cpu
