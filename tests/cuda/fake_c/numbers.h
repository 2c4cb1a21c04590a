// Operands of the fake library's convolutions, in fp32 or fp16.
#ifndef SPILLWAY_TESTS_CUDA_FAKE_C_NUMBERS_H_
#define SPILLWAY_TESTS_CUDA_FAKE_C_NUMBERS_H_
#include "tests/cuda/fake_c/descriptors.h"
#if __has_include(<cudnn.h>)

#include <cuda_fp16.h>

#include <cstring>
#include <vector>

namespace cuda_fake {

// What an operand holds, whatever its type; or sums that go into one.
class Numbers {
 public:
  Numbers(std::size_t bytes, cudnnDataType_t type) : type_(type), values_(bytes / SizeOf(type)) {}
  Numbers(const void* memory, std::size_t bytes, cudnnDataType_t type) : Numbers(bytes, type) {
    for (std::size_t k = 0; k < values_.size(); ++k) values_[k] = static_cast<double>(At(memory, k));
  }
  double operator[](std::size_t k) const { return values_[k]; }
  double& operator[](std::size_t k) { return values_[k]; }
  void BlendInto(void* memory, const void* alpha, const void* beta) const {
    for (std::size_t k = 0; k < values_.size(); ++k) {
      float result = Number(beta) == 0 ? 0 : At(memory, k);
      Blend(alpha, values_[k], beta, result);
      const __half half = __float2half_rn(result);
      const bool is_half = type_ == CUDNN_DATA_HALF;
      std::memcpy(static_cast<char*>(memory) + k * SizeOf(type_),
                  is_half ? static_cast<const void*>(&half) : static_cast<const void*>(&result), SizeOf(type_));
    }
  }

 private:
  float At(const void* memory, std::size_t k) const {
    return type_ == CUDNN_DATA_HALF ? __half2float(static_cast<const __half*>(memory)[k])
                                    : static_cast<const float*>(memory)[k];
  }
  cudnnDataType_t type_;
  std::vector<double> values_;
};

}  // namespace cuda_fake

#endif
#endif  // SPILLWAY_TESTS_CUDA_FAKE_C_NUMBERS_H_
