// What stands behind cuDNN's opaque descriptors in the fake library.
#ifndef SPILLWAY_TESTS_CUDA_FAKE_C_DESCRIPTORS_H_
#define SPILLWAY_TESTS_CUDA_FAKE_C_DESCRIPTORS_H_
#if __has_include(<cudnn.h>)

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tests/cuda/fake_c/fake.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  std::vector<std::int64_t> dims, strides;
};
struct cudnnFilterStruct {
  std::vector<std::int64_t> dims;
};
struct cudnnConvolutionStruct {
  std::vector<std::int64_t> pad, stride, dilation;
  std::int64_t groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode{};
  std::vector<std::int64_t> window, pad, stride;
};
struct cudnnActivationStruct {
  bool set = false;
};
struct cudnnLRNStruct {
  std::int64_t size = 0;
  double alpha = 0, beta = 0, k = 0;
};
struct cudnnOpTensorStruct {
  bool set = false;
};

namespace cuda_fake {

// A tensor as {n, c, d, h, w}.
struct Grid {
  std::array<std::int64_t, 5> size{}, stride{};
  std::int64_t Elements() const { return size[0] * size[1] * Spatial(); }
  std::int64_t Spatial() const { return size[2] * size[3] * size[4]; }
  // Of element i, counted densely in that order.
  std::size_t At(std::int64_t i) const;
  std::size_t At(std::int64_t n, std::int64_t c, std::int64_t position) const;
};
Grid GridOf(cudnnTensorDescriptor_t tensor);  // REQUIRES: 4 or 5 dimensions
std::size_t BytesOf(cudnnTensorDescriptor_t tensor);
bool SameSizes(cudnnTensorDescriptor_t a, cudnnTensorDescriptor_t b);
// Whether b's sizes are those of a, or 1.
bool Broadcasts(cudnnTensorDescriptor_t b, cudnnTensorDescriptor_t a);
bool IsVector(cudnnTensorDescriptor_t vector, cudnnTensorDescriptor_t x);  // one element a channel of x
// {d, h, w}, with `missing` for d where there are two.
std::array<std::int64_t, 3> Triple(const std::vector<std::int64_t>& values, std::int64_t missing);

bool Holds(cudnnTensorDescriptor_t tensor, const void* memory);  // whether all of the tensor lies on the device
bool AllHold(cudnnTensorDescriptor_t tensor, std::initializer_list<const void*> places);

inline const float* Floats(const void* memory) { return static_cast<const float*>(memory); }
inline float* Floats(void* memory) { return static_cast<float*>(memory); }
inline double Double(float value) { return static_cast<double>(value); }

inline float Number(const void* factor) { return *static_cast<const float*>(factor); }
// result = alpha * value + beta * result, where the old result is not looked at if beta is 0.
inline void Blend(const void* alpha, double value, const void* beta, float& result) {
  const double old = Number(beta) == 0 ? 0.0 : static_cast<double>(Number(beta)) * static_cast<double>(result);
  result = static_cast<float>(static_cast<double>(Number(alpha)) * value + old);
}

// Calls body(n, c).
template <typename Body>
void EachPlane(const Grid& grid, Body body) {
  for (std::int64_t n = 0; n < grid.size[0]; ++n) {
    for (std::int64_t c = 0; c < grid.size[1]; ++c) body(n, c);
  }
}

}  // namespace cuda_fake

#endif
#endif  // SPILLWAY_TESTS_CUDA_FAKE_C_DESCRIPTORS_H_
