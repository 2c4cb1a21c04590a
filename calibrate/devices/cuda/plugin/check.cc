#include "calibrate/devices/cuda/plugin/check.h"

#include <limits>

namespace spillway::cuda {
namespace {

[[noreturn]] void Fail(Fault fault, const std::string& status, const char* expression, const char* file, int line) {
  throw DeviceError(fault, kNoInstruction,
                    std::string(expression) + ": " + status + ", at " + file + ":" + std::to_string(line));
}

}  // namespace

void Check(cudaError_t status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // an error that does not stick must not show in the next call
  Fault fault = Fault::kFailed;
  if (status == cudaErrorMemoryAllocation) fault = Fault::kNoMemory;
  if (status == cudaErrorNotSupported) fault = Fault::kRefused;
  Fail(fault, StatusText(status), expression, file, line);
}

void Check(cudnnStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  Fault fault = Fault::kFailed;
  if (IsOutOfMemory(status)) fault = Fault::kNoMemory;
  if (IsRefusal(status)) fault = Fault::kRefused;
  Fail(fault, StatusText(status), expression, file, line);
}

void Check(cublasStatus_t status, const char* expression, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  Fault fault = Fault::kFailed;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fault = Fault::kNoMemory;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) fault = Fault::kRefused;
  Fail(fault, StatusText(status), expression, file, line);
}

void Refuse(const std::string& why) { throw DeviceError(Fault::kRefused, kNoInstruction, why); }

int IntOf(std::int64_t value) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    Refuse("a size of " + std::to_string(value) + " is more than cuDNN and cuBLAS take");
  }
  return static_cast<int>(value);
}

}  // namespace spillway::cuda
