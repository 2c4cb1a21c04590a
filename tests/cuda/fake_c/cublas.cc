// The few functions of cuBLAS that the plugin calls.
#include <cublas_v2.h>

#include <cstdint>

#include "tests/cuda/fake_c/fake.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  bool own_workspace = false;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

using namespace cuda_fake;

namespace {

// Of a matrix by columns, `rows` x `columns` before the operation.
bool Holds(const float* matrix, std::int64_t rows, std::int64_t columns, int leading) {
  if (leading < rows) return false;
  return OnDevice(matrix, sizeof(float) * static_cast<std::size_t>((columns - 1) * leading + rows));
}
float At(const float* matrix, cublasOperation_t operation, std::int64_t row, std::int64_t column, int leading) {
  return operation == CUBLAS_OP_N ? matrix[column * leading + row] : matrix[row * leading + column];
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  ++TheState().objects;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  --TheState().objects;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->own_workspace = false;  // as documented
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  handle->own_workspace = OnDevice(workspace, bytes);
  return handle->own_workspace ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
  handle->math = math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  *value = static_cast<int>(type) + 1;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "another status of cuBLAS";
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                           const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta,
                           float* c, int ldc) {
  if (const auto status = Injected("cublasSgemm")) return static_cast<cublasStatus_t>(*status);
  Log(handle->math == CUBLAS_TF32_TENSOR_OP_MATH ? "sgemm tf32" : "sgemm fp32");
  const bool a_fits = op_a == CUBLAS_OP_N ? Holds(a, m, k, lda) : Holds(a, k, m, lda);
  const bool b_fits = op_b == CUBLAS_OP_N ? Holds(b, k, n, ldb) : Holds(b, n, k, ldb);
  if (!a_fits || !b_fits || !Holds(c, m, n, ldc)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!handle->own_workspace) return CUBLAS_STATUS_INTERNAL_ERROR;  // the real one would allocate
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        sum += static_cast<double>(At(a, op_a, row, i, lda)) * static_cast<double>(At(b, op_b, i, column, ldb));
      }
      float& result = c[column * ldc + row];
      result = static_cast<float>(static_cast<double>(*alpha) * sum) + (*beta == 0 ? 0 : *beta * result);
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}
