// Convolutions of the fake cuDNN. What it offers is made up, but varied as the real one's:
//   number   0 and 1 always, 1 with as much workspace as the output has elements
//            2 has a workspace size but is ranked as impossible
//            5 (forward 6) for 3x3 windows and stride 1, with a workspace; nothing else
// ranked 1 before 0 before the last. Of the backward passes 0 gives other bits each time.
#include <algorithm>

#include "tests/cuda/fake_c/descriptors.h"

namespace cuda_fake {
namespace {

struct Shapes {
  Grid in, out;
  std::array<std::int64_t, 3> window{}, pad{}, stride{}, dilation{};
  std::int64_t groups = 1, in_group = 0, out_group = 0;  // channels of a group
  std::size_t weight_bytes = 0;
  bool fits = false;
};

bool IsDense(const Grid& grid) {
  std::int64_t stride = 1;
  for (std::size_t axis = grid.size.size(); axis-- > 0;) {
    if (grid.size[axis] > 1 && grid.stride[axis] != stride) return false;
    stride *= grid.size[axis];
  }
  return true;
}

Shapes ShapesOf(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t c,
                cudnnTensorDescriptor_t y) {
  Shapes s;
  const std::size_t count = x->dims.size();
  if (count < 4 || w->dims.size() != count || y->dims.size() != count || c->pad.size() != count - 2) return s;
  s.in = GridOf(x);
  s.out = GridOf(y);
  s.window = Triple({w->dims.begin() + 2, w->dims.end()}, 1);
  s.pad = Triple(c->pad, 0);
  s.stride = Triple(c->stride, 1);
  s.dilation = Triple(c->dilation, 1);
  s.groups = c->groups;
  s.in_group = s.in.size[1] / s.groups;
  s.out_group = s.out.size[1] / s.groups;
  s.weight_bytes = sizeof(float);
  for (const std::int64_t size : w->dims) s.weight_bytes *= static_cast<std::size_t>(size);
  s.fits = s.in.size[0] == s.out.size[0] && w->dims[0] == s.out.size[1] && w->dims[1] == s.in_group &&
           s.in.size[1] % s.groups == 0 && s.out.size[1] % s.groups == 0 && IsDense(s.in) && IsDense(s.out);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t extent = s.dilation[i] * (s.window[i] - 1) + 1;
    const std::int64_t size = (s.in.size[i + 2] + 2 * s.pad[i] - extent) / s.stride[i] + 1;
    s.fits = s.fits && size == s.out.size[i + 2];
  }
  return s;
}

// Calls body(input position, tap, output position) for every pair inside the image.
template <typename Body>
void EachTap(const Shapes& s, Body body) {
  const auto& size = s.in.size;
  for (std::int64_t o = 0; o < s.out.Spatial(); ++o) {
    const std::array<std::int64_t, 3> out{o / (s.out.size[3] * s.out.size[4]), o / s.out.size[4] % s.out.size[3],
                                          o % s.out.size[4]};
    for (std::int64_t t = 0; t < s.window[0] * s.window[1] * s.window[2]; ++t) {
      const std::int64_t d = out[0] * s.stride[0] - s.pad[0] + t / (s.window[1] * s.window[2]) * s.dilation[0];
      const std::int64_t h = out[1] * s.stride[1] - s.pad[1] + t / s.window[2] % s.window[1] * s.dilation[1];
      const std::int64_t w = out[2] * s.stride[2] - s.pad[2] + t % s.window[2] * s.dilation[2];
      if (d < 0 || h < 0 || w < 0 || d >= size[2] || h >= size[3] || w >= size[4]) continue;
      body((d * size[3] + h) * size[4] + w, t, o);
    }
  }
}

// Calls body(x, w, y) with the places of every product.
template <typename Body>
void EachProduct(const Shapes& s, Body body) {
  const std::int64_t taps = s.window[0] * s.window[1] * s.window[2];
  const auto at = [](const Grid& grid, std::int64_t n, std::int64_t c) {
    return static_cast<std::size_t>(n * grid.stride[0] + c * grid.stride[1]);
  };
  const auto weight = [&](std::int64_t oc, std::int64_t k, std::int64_t tap) {
    return static_cast<std::size_t>((oc * s.in_group + k) * taps + tap);
  };
  EachTap(s, [&](std::int64_t i, std::int64_t tap, std::int64_t o) {
    const std::size_t in = s.in.At(0, 0, i), out = s.out.At(0, 0, o);
    for (std::int64_t n = 0; n < s.in.size[0]; ++n) {
      for (std::int64_t oc = 0; oc < s.out.size[1]; ++oc) {
        for (std::int64_t k = 0; k < s.in_group; ++k) {
          body(in + at(s.in, n, oc / s.out_group * s.in_group + k), weight(oc, k, tap), out + at(s.out, n, oc));
        }
      }
    }
  });
}

int Special(const char* pass) { return *pass == 'f' ? 6 : 5; }

cudnnStatus_t Workspace(const Shapes& s, const char* pass, int algorithm, std::size_t* bytes) {
  if (!s.fits) return CUDNN_STATUS_BAD_PARAM;
  const bool small = s.window == std::array<std::int64_t, 3>{1, 3, 3} && s.stride[1] == 1 && s.stride[2] == 1 &&
                     s.dilation == std::array<std::int64_t, 3>{1, 1, 1};
  *bytes = algorithm == 0 ? 0 : sizeof(float) * static_cast<std::size_t>(s.out.Elements());
  if (algorithm <= 2 || (algorithm == Special(pass) && small)) return CUDNN_STATUS_SUCCESS;
  return CUDNN_STATUS_NOT_SUPPORTED;
}

template <typename Answer>
Answer AnswerOf(const Shapes& s, const char* pass, int algorithm) {
  Answer answer{};
  answer.algo = static_cast<decltype(answer.algo)>(algorithm);
  answer.mathType = CUDNN_DEFAULT_MATH;
  answer.status = Workspace(s, pass, algorithm, &answer.memory);
  if (algorithm == 2) answer.status = CUDNN_STATUS_NOT_SUPPORTED;
  const bool varies = *pass != 'f' && algorithm == 0;
  answer.determinism = varies ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
  return answer;
}

template <typename Answer>
cudnnStatus_t Rank(const Shapes& s, const char* pass, int most, int* count, Answer* answers) {
  ++TheState().rankings;
  if (const auto status = Injected("ranking")) return static_cast<cudnnStatus_t>(*status);
  if (!s.fits) return CUDNN_STATUS_BAD_PARAM;
  *count = 0;
  for (const int algorithm : {1, 0, Special(pass), 2}) {
    if (*count < most) answers[(*count)++] = AnswerOf<Answer>(s, pass, algorithm);
  }
  return CUDNN_STATUS_SUCCESS;
}

// What an operand will hold: sums in double precision.
using Sums = std::vector<double>;

void BlendInto(void* memory, const Sums& sums, const void* alpha, const void* beta) {
  for (std::size_t k = 0; k < sums.size(); ++k) Blend(alpha, sums[k], beta, Floats(memory)[k]);
}

cudnnStatus_t Ready(const Shapes& s, const char* pass, int algorithm, cudnnConvolutionDescriptor_t c,
                    const void* workspace, std::size_t bytes) {
  if (const auto status = Injected("convolution")) return static_cast<cudnnStatus_t>(*status);
  std::size_t needed = 0;
  const cudnnStatus_t status = Workspace(s, pass, algorithm, &needed);
  if (status != CUDNN_STATUS_SUCCESS || algorithm == 2) return CUDNN_STATUS_NOT_SUPPORTED;
  if (bytes < needed || (needed > 0 && !OnDevice(workspace, needed))) return CUDNN_STATUS_BAD_PARAM;
  Log(std::string(pass) + " " + std::to_string(algorithm) + (c->math == CUDNN_FMA_MATH ? " fp32" : " tf32"));
  return CUDNN_STATUS_SUCCESS;
}

bool HoldsAll(const Shapes& s, cudnnTensorDescriptor_t x_desc, const void* x, const void* w,
              cudnnTensorDescriptor_t y_desc, const void* y) {
  return Holds(x_desc, x) && OnDevice(w, s.weight_bytes) && Holds(y_desc, y);
}

}  // namespace
}  // namespace cuda_fake

using namespace cuda_fake;

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t c,
                                                      const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t a,
                                                      std::size_t* bytes) {
  ++TheState().workspace_sizes;
  return Workspace(ShapesOf(x, w, c, y), "forward", a, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                           const cudnnTensorDescriptor_t dy,
                                                           const cudnnConvolutionDescriptor_t c,
                                                           const cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t a, std::size_t* bytes) {
  ++TheState().workspace_sizes;
  return Workspace(ShapesOf(dx, w, c, dy), "data", a, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                             const cudnnTensorDescriptor_t dy,
                                                             const cudnnConvolutionDescriptor_t c,
                                                             const cudnnFilterDescriptor_t dw,
                                                             cudnnConvolutionBwdFilterAlgo_t a, std::size_t* bytes) {
  ++TheState().workspace_sizes;
  return Workspace(ShapesOf(x, dw, c, dy), "weights", a, bytes);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t c,
                                                     const cudnnTensorDescriptor_t y, const int most, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* answers) {
  return Rank(ShapesOf(x, w, c, y), "forward", most, count, answers);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t dy,
                                                          const cudnnConvolutionDescriptor_t c,
                                                          const cudnnTensorDescriptor_t dx, const int most, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* answers) {
  return Rank(ShapesOf(dx, w, c, dy), "data", most, count, answers);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t dy,
                                                            const cudnnConvolutionDescriptor_t c,
                                                            const cudnnFilterDescriptor_t dw, const int most,
                                                            int* count, cudnnConvolutionBwdFilterAlgoPerf_t* answers) {
  return Rank(ShapesOf(x, dw, c, dy), "weights", most, count, answers);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void* alpha, const cudnnTensorDescriptor_t x_desc,
                                      const void* x, const cudnnFilterDescriptor_t w_desc, const void* w,
                                      const cudnnConvolutionDescriptor_t c, cudnnConvolutionFwdAlgo_t a,
                                      void* workspace, std::size_t bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_desc, void* y) {
  const Shapes s = ShapesOf(x_desc, w_desc, c, y_desc);
  if (!s.fits || !HoldsAll(s, x_desc, x, w, y_desc, y)) return CUDNN_STATUS_BAD_PARAM;
  const cudnnStatus_t status = Ready(s, "forward", a, c, workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Sums sums(BytesOf(y_desc) / sizeof(float));
  EachProduct(
      s, [&](std::size_t i, std::size_t k, std::size_t o) { sums[o] += Double(Floats(x)[i]) * Double(Floats(w)[k]); });
  BlendInto(y, sums, alpha, beta);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void* alpha, const cudnnFilterDescriptor_t w_desc,
                                           const void* w, const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const cudnnConvolutionDescriptor_t c, cudnnConvolutionBwdDataAlgo_t a,
                                           void* workspace, std::size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_desc, void* dx) {
  const Shapes s = ShapesOf(dx_desc, w_desc, c, dy_desc);
  if (!s.fits || !HoldsAll(s, dx_desc, dx, w, dy_desc, dy)) return CUDNN_STATUS_BAD_PARAM;
  const cudnnStatus_t status = Ready(s, "data", a, c, workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Sums sums(BytesOf(dx_desc) / sizeof(float));
  EachProduct(
      s, [&](std::size_t i, std::size_t k, std::size_t o) { sums[i] += Double(Floats(dy)[o]) * Double(Floats(w)[k]); });
  BlendInto(dx, sums, alpha, beta);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void* alpha, const cudnnTensorDescriptor_t x_desc,
                                             const void* x, const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                             const cudnnConvolutionDescriptor_t c, cudnnConvolutionBwdFilterAlgo_t a,
                                             void* workspace, std::size_t bytes, const void* beta,
                                             const cudnnFilterDescriptor_t dw_desc, void* dw) {
  const Shapes s = ShapesOf(x_desc, dw_desc, c, dy_desc);
  if (!s.fits || !HoldsAll(s, x_desc, x, dw, dy_desc, dy)) return CUDNN_STATUS_BAD_PARAM;
  const cudnnStatus_t status = Ready(s, "weights", a, c, workspace, bytes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Sums sums(s.weight_bytes / sizeof(float));
  EachProduct(
      s, [&](std::size_t i, std::size_t k, std::size_t o) { sums[k] += Double(Floats(x)[i]) * Double(Floats(dy)[o]); });
  BlendInto(dw, sums, alpha, beta);
  return CUDNN_STATUS_SUCCESS;
}
