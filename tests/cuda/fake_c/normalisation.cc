// The fake cuDNN's batch normalisation and local response normalisation.
#include <algorithm>
#include <cmath>

#include "tests/cuda/fake_c/descriptors.h"

namespace cuda_fake {
namespace {

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
