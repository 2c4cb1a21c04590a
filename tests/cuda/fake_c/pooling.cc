// The fake cuDNN's pooling.
#include <algorithm>
#include <limits>

#include "tests/cuda/fake_c/descriptors.h"

namespace cuda_fake {
namespace {

struct Window {
  std::array<std::int64_t, 3> begin{}, end{};  // inside the image
  double whole = 1;                            // positions with padding
};

struct Pool {
  Grid in, out;
  std::array<std::int64_t, 3> window{}, pad{}, stride{};
  bool fits = false, average = false;

  Window At(std::int64_t o) const {
    const std::array<std::int64_t, 3> at{o / (out.size[3] * out.size[4]), o / out.size[4] % out.size[3],
                                         o % out.size[4]};
    Window w;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t begin = at[i] * stride[i] - pad[i];
      w.begin[i] = std::max<std::int64_t>(begin, 0);
      w.end[i] = std::min(begin + window[i], in.size[i + 2]);
      w.whole *= static_cast<double>(window[i]);
    }
    return w;
  }
  template <typename Body>
  void Each(const Window& w, Body body) const {
    for (std::int64_t d = w.begin[0]; d < w.end[0]; ++d) {
      for (std::int64_t h = w.begin[1]; h < w.end[1]; ++h) {
        for (std::int64_t i = w.begin[2]; i < w.end[2]; ++i) body((d * in.size[3] + h) * in.size[4] + i);
      }
    }
  }
};

Pool PoolOf(cudnnPoolingDescriptor_t p, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y) {
  Pool pool;
  if (x->dims.size() != y->dims.size() || p->window.size() != x->dims.size() - 2) return pool;
  pool.in = GridOf(x);
  pool.out = GridOf(y);
  pool.window = Triple(p->window, 1);
  pool.pad = Triple(p->pad, 0);
  pool.stride = Triple(p->stride, 1);
  pool.average = p->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  pool.fits = pool.in.size[0] == pool.out.size[0] && pool.in.size[1] == pool.out.size[1] &&
              (pool.average || p->mode == CUDNN_POOLING_MAX_DETERMINISTIC);
  for (std::size_t i = 0; i < 3; ++i) {  // rounded down, or up as Caffe does
    const std::int64_t rest = pool.in.size[i + 2] + 2 * pool.pad[i] - pool.window[i];
    const std::int64_t size = pool.out.size[i + 2] - 1;
    pool.fits = pool.fits && (size == rest / pool.stride[i] || size == (rest + pool.stride[i] - 1) / pool.stride[i]);
  }
  return pool;
}

}  // namespace
}  // namespace cuda_fake

using namespace cuda_fake;

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, const cudnnPoolingDescriptor_t p, const void* alpha,
                                  const cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t y_desc, void* y) {
  const Pool pool = PoolOf(p, x_desc, y_desc);
  if (!pool.fits || !Holds(x_desc, x) || !Holds(y_desc, y)) return CUDNN_STATUS_BAD_PARAM;
  EachPlane(pool.out, [&](std::int64_t n, std::int64_t c) {
    for (std::int64_t o = 0; o < pool.out.Spatial(); ++o) {
      const Window w = pool.At(o);
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      pool.Each(w, [&](std::int64_t i) {
        const double value = Double(Floats(x)[pool.in.At(n, c, i)]);
        most = std::max(most, value);
        sum += value;
      });
      Blend(alpha, pool.average ? sum / w.whole : most, beta, Floats(y)[pool.out.At(n, c, o)]);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t, const cudnnPoolingDescriptor_t p, const void* alpha,
                                   const cudnnTensorDescriptor_t y_desc, const void* y,
                                   const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                   const cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                   const cudnnTensorDescriptor_t dx_desc, void* dx) {
  const Pool pool = PoolOf(p, x_desc, y_desc);
  if (!pool.fits || !SameSizes(y_desc, dy_desc) || !SameSizes(x_desc, dx_desc)) return CUDNN_STATUS_BAD_PARAM;
  if (!AllHold(y_desc, {y, dy}) || !AllHold(x_desc, {x, dx})) return CUDNN_STATUS_BAD_PARAM;
  std::vector<double> sums(static_cast<std::size_t>(pool.in.Elements()));
  EachPlane(pool.out, [&](std::int64_t n, std::int64_t c) {
    for (std::int64_t o = 0; o < pool.out.Spatial(); ++o) {
      const Window w = pool.At(o);
      const std::size_t from = pool.out.At(n, c, o);
      const double gradient = Double(Floats(dy)[from]);
      bool given = false;  // the first largest element gets it
      pool.Each(w, [&](std::int64_t i) {
        const std::size_t at = pool.in.At(n, c, i);
        if (pool.average) sums[at] += gradient / w.whole;
        if (!pool.average && !given && Floats(x)[at] == Floats(y)[from]) {
          sums[at] += gradient;
          given = true;
        }
      });
    }
  });
  for (std::size_t i = 0; i < sums.size(); ++i) Blend(alpha, sums[i], beta, Floats(dx)[i]);
  return CUDNN_STATUS_SUCCESS;
}
