// Everything of the fake cuDNN but convolutions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cuda/fake_c/descriptors.h"

namespace cuda_fake {
namespace {

const float* Floats(const void* memory) { return static_cast<const float*>(memory); }
float* Floats(void* memory) { return static_cast<float*>(memory); }
double Double(float value) { return static_cast<double>(value); }

// Whether b's sizes are those of a, or 1.
bool Broadcasts(cudnnTensorDescriptor_t b, cudnnTensorDescriptor_t a) {
  if (a->dims.size() != b->dims.size()) return false;
  for (std::size_t i = 0; i < a->dims.size(); ++i) {
    if (b->dims[i] != a->dims[i] && b->dims[i] != 1) return false;
  }
  return true;
}

// The element of a broadcast tensor that belongs to element i of `whole`.
std::size_t BroadcastAt(const Grid& part, const Grid& whole, std::int64_t i) {
  std::int64_t at = 0;
  for (std::size_t k = 5; k-- > 0; i /= whole.size[k]) {
    if (part.size[k] != 1) at += i % whole.size[k] * part.stride[k];
  }
  return static_cast<std::size_t>(at);
}

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

// Calls body(n, c).
template <typename Body>
void EachPlane(const Grid& grid, Body body) {
  for (std::int64_t n = 0; n < grid.size[0]; ++n) {
    for (std::int64_t c = 0; c < grid.size[1]; ++c) body(n, c);
  }
}

struct Moments {
  double mean = 0, variance = 0, count = 0;
};
Moments MomentsOf(const Grid& x, const float* values, std::int64_t c) {
  Moments m;
  m.count = static_cast<double>(x.size[0] * x.Spatial());
  const auto sum = [&](auto&& term) {
    double total = 0;
    for (std::int64_t n = 0; n < x.size[0]; ++n) {
      for (std::int64_t i = 0; i < x.Spatial(); ++i) total += term(Double(values[x.At(n, c, i)]));
    }
    return total;
  };
  m.mean = sum([](double v) { return v; }) / m.count;
  m.variance = sum([&](double v) { return (v - m.mean) * (v - m.mean); }) / m.count;
  return m;
}

bool IsVector(cudnnTensorDescriptor_t vector, cudnnTensorDescriptor_t x) {
  return Broadcasts(vector, x) && vector->dims[1] == x->dims[1] && BytesOf(vector) == 4u * std::size_t(x->dims[1]);
}
bool AllHold(cudnnTensorDescriptor_t tensor, std::initializer_list<const void*> places) {
  return std::all_of(places.begin(), places.end(), [&](const void* place) { return Holds(tensor, place); });
}

// Sum over the window of channels around c, at one position.
template <typename Term>
double AcrossChannels(const Grid& x, std::int64_t size, std::int64_t c, Term term) {
  const std::int64_t before = (size - 1) / 2, after = size - before - 1;
  double sum = 0;
  for (std::int64_t j = std::max<std::int64_t>(c - before, 0); j <= std::min(c + after, x.size[1] - 1); ++j) {
    sum += term(j);
  }
  return sum;
}

}  // namespace
}  // namespace cuda_fake

using namespace cuda_fake;

cudnnStatus_t cudnnAddTensor(cudnnHandle_t, const void* alpha, const cudnnTensorDescriptor_t a_desc, const void* a,
                             const void* beta, const cudnnTensorDescriptor_t c_desc, void* c) {
  if (!Broadcasts(a_desc, c_desc) || !Holds(a_desc, a) || !Holds(c_desc, c)) return CUDNN_STATUS_BAD_PARAM;
  const Grid part = GridOf(a_desc), whole = GridOf(c_desc);
  for (std::int64_t i = 0; i < whole.Elements(); ++i) {
    Blend(alpha, Double(Floats(a)[BroadcastAt(part, whole, i)]), beta, Floats(c)[whole.At(i)]);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnOpTensor(cudnnHandle_t, const cudnnOpTensorDescriptor_t op, const void* alpha1,
                            const cudnnTensorDescriptor_t a_desc, const void* a, const void* alpha2,
                            const cudnnTensorDescriptor_t b_desc, const void* b, const void* beta,
                            const cudnnTensorDescriptor_t c_desc, void* c) {
  if (!op->set || !SameSizes(a_desc, c_desc) || !Broadcasts(b_desc, a_desc)) return CUDNN_STATUS_BAD_PARAM;
  if (!Holds(a_desc, a) || !Holds(b_desc, b) || !Holds(c_desc, c)) return CUDNN_STATUS_BAD_PARAM;
  const Grid left = GridOf(a_desc), right = GridOf(b_desc), result = GridOf(c_desc);
  for (std::int64_t i = 0; i < result.Elements(); ++i) {
    const double sum = Double(Number(alpha1)) * Double(Floats(a)[left.At(i)]) +
                       Double(Number(alpha2)) * Double(Floats(b)[BroadcastAt(right, left, i)]);
    const float one = 1;
    Blend(&one, sum, beta, Floats(c)[result.At(i)]);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t, const void* alpha, const cudnnTensorDescriptor_t dy_desc,
                                           const void* dy, const void* beta, const cudnnTensorDescriptor_t db_desc,
                                           void* db) {
  if (!IsVector(db_desc, dy_desc) || !Holds(dy_desc, dy) || !Holds(db_desc, db)) return CUDNN_STATUS_BAD_PARAM;
  const Grid grid = GridOf(dy_desc);
  std::vector<double> sums(static_cast<std::size_t>(grid.size[1]));
  EachPlane(grid, [&](std::int64_t n, std::int64_t c) {
    for (std::int64_t i = 0; i < grid.Spatial(); ++i) {
      sums[static_cast<std::size_t>(c)] += Double(Floats(dy)[grid.At(n, c, i)]);
    }
  });
  for (std::size_t c = 0; c < sums.size(); ++c) Blend(alpha, sums[c], beta, Floats(db)[c]);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t, cudnnActivationDescriptor_t activation, const void* alpha,
                                     const cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                     const cudnnTensorDescriptor_t y_desc, void* y) {
  if (!activation->set || !SameSizes(x_desc, y_desc) || !Holds(x_desc, x) || !Holds(y_desc, y)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const Grid in = GridOf(x_desc), out = GridOf(y_desc);
  for (std::int64_t i = 0; i < out.Elements(); ++i) {
    Blend(alpha, std::max(Double(Floats(x)[in.At(i)]), 0.0), beta, Floats(y)[out.At(i)]);
  }
  return CUDNN_STATUS_SUCCESS;
}

// dx = dy where x > 0; y is not looked at.
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t, cudnnActivationDescriptor_t activation, const void* alpha,
                                      const cudnnTensorDescriptor_t y_desc, const void* y,
                                      const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                      const cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                      const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (!activation->set || !SameSizes(y_desc, dy_desc) || !SameSizes(x_desc, dx_desc)) return CUDNN_STATUS_BAD_PARAM;
  if (!SameSizes(x_desc, y_desc) || !Holds(y_desc, y) || !AllHold(x_desc, {dy, x, dx})) return CUDNN_STATUS_BAD_PARAM;
  const Grid grid = GridOf(x_desc);
  for (std::int64_t i = 0; i < grid.Elements(); ++i) {
    const std::size_t at = grid.At(i);
    Blend(alpha, Floats(x)[at] > 0 ? Double(Floats(dy)[at]) : 0.0, beta, Floats(dx)[at]);
  }
  return CUDNN_STATUS_SUCCESS;
}

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

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                  const void* alpha, const cudnnTensorDescriptor_t x_desc, const void* x,
                                  const void* beta, const cudnnTensorDescriptor_t y_desc, void* y) {
  if (algorithm != CUDNN_SOFTMAX_ACCURATE || !SameSizes(x_desc, y_desc)) return CUDNN_STATUS_BAD_PARAM;
  if (!Holds(x_desc, x) || !Holds(y_desc, y)) return CUDNN_STATUS_BAD_PARAM;
  const Grid grid = GridOf(x_desc);
  // Groups that sum to 1: all of an image, or the channels of a position.
  const bool instance = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
  const std::int64_t groups = instance ? 1 : grid.Spatial(), members = grid.size[1] * grid.Spatial() / groups;
  for (std::int64_t n = 0; n < grid.size[0]; ++n) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto at = [&](std::int64_t k) {
        return instance ? grid.At(n, k / grid.Spatial(), k % grid.Spatial()) : grid.At(n, k, g);
      };
      double most = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t k = 0; k < members; ++k) most = std::max(most, Double(Floats(x)[at(k)]));
      for (std::int64_t k = 0; k < members; ++k) sum += std::exp(Double(Floats(x)[at(k)]) - most);
      for (std::int64_t k = 0; k < members; ++k) {
        Blend(alpha, std::exp(Double(Floats(x)[at(k)]) - most) / sum, beta, Floats(y)[at(k)]);
      }
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t, cudnnLRNDescriptor_t lrn, cudnnLRNMode_t mode,
                                          const void* alpha, const cudnnTensorDescriptor_t x_desc, const void* x,
                                          const void* beta, const cudnnTensorDescriptor_t y_desc, void* y) {
  if (mode != CUDNN_LRN_CROSS_CHANNEL_DIM1 || !SameSizes(x_desc, y_desc)) return CUDNN_STATUS_BAD_PARAM;
  if (!Holds(x_desc, x) || !Holds(y_desc, y) || x_desc->dims.size() != 4) return CUDNN_STATUS_BAD_PARAM;
  const Grid grid = GridOf(x_desc);
  EachPlane(grid, [&](std::int64_t n, std::int64_t c) {
    for (std::int64_t i = 0; i < grid.Spatial(); ++i) {
      const auto value = [&](std::int64_t j) { return Double(Floats(x)[grid.At(n, j, i)]); };
      const double squares = AcrossChannels(grid, lrn->size, c, [&](std::int64_t j) { return value(j) * value(j); });
      const double scale = lrn->k + lrn->alpha / static_cast<double>(lrn->size) * squares;
      Blend(alpha, value(c) * std::pow(scale, -lrn->beta), beta, Floats(y)[grid.At(n, c, i)]);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t, cudnnLRNDescriptor_t lrn, cudnnLRNMode_t mode,
                                           const void* alpha, const cudnnTensorDescriptor_t y_desc, const void* y,
                                           const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                           const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (mode != CUDNN_LRN_CROSS_CHANNEL_DIM1 || !SameSizes(x_desc, y_desc)) return CUDNN_STATUS_BAD_PARAM;
  if (!SameSizes(y_desc, dy_desc) || !SameSizes(x_desc, dx_desc) || !AllHold(x_desc, {y, dy, x, dx})) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const Grid grid = GridOf(x_desc);
  const double share = lrn->alpha / static_cast<double>(lrn->size);
  EachPlane(grid, [&](std::int64_t n, std::int64_t c) {
    for (std::int64_t i = 0; i < grid.Spatial(); ++i) {
      const auto at = [&](const void* from, std::int64_t j) { return Double(Floats(from)[grid.At(n, j, i)]); };
      const auto scale = [&](std::int64_t centre) {
        return lrn->k +
               share * AcrossChannels(grid, lrn->size, centre, [&](std::int64_t j) { return at(x, j) * at(x, j); });
      };
      const double sum =
          AcrossChannels(grid, lrn->size, c, [&](std::int64_t j) { return at(dy, j) * at(y, j) / scale(j); });
      const double gradient = at(dy, c) * std::pow(scale(c), -lrn->beta) - 2 * share * lrn->beta * at(x, c) * sum;
      Blend(alpha, gradient, beta, Floats(dx)[grid.At(n, c, i)]);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t, cudnnBatchNormMode_t mode, const void* alpha,
                                                     const void* beta, const cudnnTensorDescriptor_t x_desc,
                                                     const void* x, const cudnnTensorDescriptor_t y_desc, void* y,
                                                     const cudnnTensorDescriptor_t vector, const void* scale,
                                                     const void* shift, double rate, void* means, void* variances,
                                                     double epsilon, void* saved_mean, void* saved_inverse) {
  if (mode != CUDNN_BATCHNORM_SPATIAL || !SameSizes(x_desc, y_desc) || !IsVector(vector, x_desc)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (epsilon < CUDNN_BN_MIN_EPSILON || (means == nullptr) != (variances == nullptr)) return CUDNN_STATUS_BAD_PARAM;
  if (means != nullptr && !AllHold(vector, {means, variances})) return CUDNN_STATUS_BAD_PARAM;
  if (!AllHold(x_desc, {x, y}) || !AllHold(vector, {scale, shift, saved_mean, saved_inverse})) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const Grid grid = GridOf(x_desc);
  for (std::int64_t c = 0; c < grid.size[1]; ++c) {
    const Moments m = MomentsOf(grid, Floats(x), c);
    const double inverse = 1 / std::sqrt(m.variance + epsilon);
    for (std::int64_t n = 0; n < grid.size[0]; ++n) {
      for (std::int64_t i = 0; i < grid.Spatial(); ++i) {
        const std::size_t at = grid.At(n, c, i);
        const double normal = (Double(Floats(x)[at]) - m.mean) * inverse;
        Blend(alpha, normal * Double(Floats(scale)[c]) + Double(Floats(shift)[c]), beta, Floats(y)[at]);
      }
    }
    Floats(saved_mean)[c] = static_cast<float>(m.mean);
    Floats(saved_inverse)[c] = static_cast<float>(inverse);
    if (means == nullptr) continue;
    const double unbiased = m.count > 1 ? m.variance * m.count / (m.count - 1) : m.variance;
    Floats(means)[c] = static_cast<float>((1 - rate) * Double(Floats(means)[c]) + rate * m.mean);
    Floats(variances)[c] = static_cast<float>((1 - rate) * Double(Floats(variances)[c]) + rate * unbiased);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t, cudnnBatchNormMode_t mode, const void* alpha,
                                                      const void* beta, const cudnnTensorDescriptor_t x_desc,
                                                      const void* x, const cudnnTensorDescriptor_t y_desc, void* y,
                                                      const cudnnTensorDescriptor_t vector, const void* scale,
                                                      const void* shift, const void* mean, const void* variance,
                                                      double epsilon) {
  if (mode != CUDNN_BATCHNORM_SPATIAL || !SameSizes(x_desc, y_desc) || !IsVector(vector, x_desc)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (!AllHold(x_desc, {x, y}) || !AllHold(vector, {scale, shift, mean, variance})) return CUDNN_STATUS_BAD_PARAM;
  const Grid grid = GridOf(x_desc);
  EachPlane(grid, [&](std::int64_t n, std::int64_t c) {
    const double inverse = 1 / std::sqrt(Double(Floats(variance)[c]) + epsilon);
    for (std::int64_t i = 0; i < grid.Spatial(); ++i) {
      const std::size_t at = grid.At(n, c, i);
      const double normal = (Double(Floats(x)[at]) - Double(Floats(mean)[c])) * inverse;
      Blend(alpha, normal * Double(Floats(scale)[c]) + Double(Floats(shift)[c]), beta, Floats(y)[at]);
    }
  });
  return CUDNN_STATUS_SUCCESS;
}

// dx = scale * inverse * (dy - mean of dy - normal * mean of dy * normal)
cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t, cudnnBatchNormMode_t mode, const void* alpha_data, const void* beta_data, const void* alpha_param,
    const void* beta_param, const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t dy_desc,
    const void* dy, const cudnnTensorDescriptor_t dx_desc, void* dx, const cudnnTensorDescriptor_t vector,
    const void* scale, void* scale_gradient, void* shift_gradient, double, const void* mean, const void* inverse) {
  if (mode != CUDNN_BATCHNORM_SPATIAL || !SameSizes(x_desc, dy_desc) || !SameSizes(x_desc, dx_desc)) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  if (!IsVector(vector, x_desc) || !AllHold(x_desc, {x, dy, dx})) return CUDNN_STATUS_BAD_PARAM;
  if (!AllHold(vector, {scale, scale_gradient, shift_gradient, mean, inverse})) return CUDNN_STATUS_BAD_PARAM;
  const Grid grid = GridOf(x_desc);
  const double count = static_cast<double>(grid.size[0] * grid.Spatial());
  for (std::int64_t c = 0; c < grid.size[1]; ++c) {
    const double deviation = Double(Floats(inverse)[c]);
    const auto normal = [&](std::size_t at) { return (Double(Floats(x)[at]) - Double(Floats(mean)[c])) * deviation; };
    const auto each = [&](auto&& body) {
      for (std::int64_t n = 0; n < grid.size[0]; ++n) {
        for (std::int64_t i = 0; i < grid.Spatial(); ++i) body(grid.At(n, c, i));
      }
    };
    double sum = 0, products = 0;
    each([&](std::size_t at) { sum += Double(Floats(dy)[at]); });
    each([&](std::size_t at) { products += Double(Floats(dy)[at]) * normal(at); });
    each([&](std::size_t at) {
      const double centred = Double(Floats(dy)[at]) - sum / count - normal(at) * products / count;
      Blend(alpha_data, Double(Floats(scale)[c]) * deviation * centred, beta_data, Floats(dx)[at]);
    });
    Blend(alpha_param, products, beta_param, Floats(scale_gradient)[c]);
    Blend(alpha_param, sum, beta_param, Floats(shift_gradient)[c]);
  }
  return CUDNN_STATUS_SUCCESS;
}
