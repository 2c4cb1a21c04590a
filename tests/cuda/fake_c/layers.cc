// Of the fake cuDNN what goes element by element: additions, ReLU, softmax; and the gradient of a bias.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cuda/fake_c/descriptors.h"

namespace cuda_fake {
namespace {

// The element of a broadcast tensor that belongs to element i of `whole`.
std::size_t BroadcastAt(const Grid& part, const Grid& whole, std::int64_t i) {
  std::int64_t at = 0;
  for (std::size_t k = 5; k-- > 0; i /= whole.size[k]) {
    if (part.size[k] != 1) at += i % whole.size[k] * part.stride[k];
  }
  return static_cast<std::size_t>(at);
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
