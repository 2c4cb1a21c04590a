// CUDA's headers, and the only place that knows what differs between their versions. Private to calibrate/devices/cuda/plugin/.
//
// Needed: CUDA 11.0 and cuDNN 8.0 or later, whose last releases for POWER9 and the V100 are CUDA 12.4 and cuDNN 8.9.
// From cuDNN only its legacy interface is used, which versions 8 and 9 share.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_VERSIONS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_VERSIONS_H_
#if __has_include(<cudnn.h>) && __has_include(<cublas_v2.h>) && __has_include(<cuda_runtime_api.h>)
#define SPILLWAY_HAS_CUDA_HEADERS 1  // every header compiles by itself, without CUDA too

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstddef>
#include <string>

#if CUDART_VERSION < 11000
#error "Spillway's CUDA device needs CUDA 11.0 or later"
#endif
#if CUDNN_MAJOR < 8
#error "Spillway's CUDA device needs cuDNN 8.0 or later"
#endif

namespace spillway::cuda {

// Asks for managed pages where they will be wanted, `device` or the host, in the order of the stream. The device argument
// became a location in CUDA 13.
inline cudaError_t Prefetch(const void* memory, std::size_t bytes, int device, bool to_device, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  cudaMemLocation place{};
  place.type = to_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
  place.id = to_device ? device : 0;
  return cudaMemPrefetchAsync(memory, bytes, place, 0, stream);
#else
  return cudaMemPrefetchAsync(memory, bytes, to_device ? device : cudaCpuDeviceId, stream);
#endif
}

// Memory of the device's pool, there when the stream gets to it. Such pools came with CUDA 11.2: before it both say
// cudaErrorNotSupported and do nothing.
inline cudaError_t AllocateFromPool(void** memory, std::size_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 11020
  return cudaMallocAsync(memory, bytes, stream);
#else
  static_cast<void>(memory), static_cast<void>(bytes), static_cast<void>(stream);
  return cudaErrorNotSupported;
#endif
}
inline cudaError_t FreeToPool(void* memory, cudaStream_t stream) {
#if CUDART_VERSION >= 11020
  return cudaFreeAsync(memory, stream);
#else
  static_cast<void>(memory), static_cast<void>(stream);
  return cudaErrorNotSupported;
#endif
}

// What a status means, in the words of its library, for error messages (check.h).
inline std::string StatusText(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

// cuDNN 9 tells more than the status.
inline std::string StatusText(cudnnStatus_t status) {
  std::string text = cudnnGetErrorString(status);
#if CUDNN_MAJOR >= 9
  std::string detail(512, '\0');
  cudnnGetLastErrorString(detail.data(), detail.size());
  detail.resize(detail.find('\0') == std::string::npos ? detail.size() : detail.find('\0'));
  if (!detail.empty()) text += ": " + detail;
#endif
  return text;
}

inline std::string StatusText(cublasStatus_t status) {
#if CUDART_VERSION >= 11050
  return cublasGetStatusString(status);
#else
  return "cuBLAS status " + std::to_string(static_cast<int>(status));
#endif
}

// Whether the library says that it does not do this, rather than that something broke. From cuDNN 9 on statuses have
// categories, 2000 to 2999 for wrong parameters and 3000 to 3999 for what is not supported.
inline bool IsRefusal(cudnnStatus_t status) {
#if CUDNN_MAJOR >= 9
  const int category = static_cast<int>(status) / 1000;
  return category == 2 || category == 3;
#else
  return status == CUDNN_STATUS_NOT_SUPPORTED || status == CUDNN_STATUS_BAD_PARAM ||
         status == CUDNN_STATUS_ARCH_MISMATCH || status == CUDNN_STATUS_INVALID_VALUE;
#endif
}
// Whether the library could not get the memory that it wanted for itself, on the host or on the device.
inline bool IsOutOfMemory(cudnnStatus_t status) {
#if CUDNN_MAJOR >= 9
  return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
#else
  return status == CUDNN_STATUS_ALLOC_FAILED;
#endif
}

// "9.19.0" of cudnnGetVersion(): thousands to version 8, ten thousands from 9 on.
inline std::string CudnnVersionText(std::size_t version) {
  const std::size_t major = version >= 90000 ? version / 10000 : version / 1000;
  const std::size_t rest = version >= 90000 ? version % 10000 : version % 1000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
}
// "13.0" of cudaRuntimeGetVersion() and cudaDriverGetVersion().
inline std::string CudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_VERSIONS_H_
