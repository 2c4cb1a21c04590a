// Every call of CUDA, cuDNN and cuBLAS goes through SPILLWAY_CHECK. Private to calibrate/devices/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_CHECK_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_CHECK_H_

#include "calibrate/devices/cuda/plugin/versions.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include "sim/execute/device.h"

namespace spillway::cuda {

// Throw the DeviceError that calibrate/devices/cuda/calls.h describes, unless `status` is success.
void Check(cudaError_t status, const char* expression, const char* file, int line);
void Check(cudnnStatus_t status, const char* expression, const char* file, int line);
void Check(cublasStatus_t status, const char* expression, const char* file, int line);

[[noreturn]] void Refuse(const std::string& why);  // Fault::kRefused

// As an int, which is what the libraries take; refuses larger ones.
int IntOf(std::int64_t value);

}  // namespace spillway::cuda

#define SPILLWAY_CHECK(call) ::spillway::cuda::Check((call), #call, __FILE__, __LINE__)

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_CHECK_H_
