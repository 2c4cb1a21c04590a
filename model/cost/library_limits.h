// Which calls of a library take no tensor of 2^31 elements or more, whatever memory there is. Such a call has to be
// divided, along the batch where the op can be.
//
//   convolution, 42 samples of 64 x 64 x 112 x 112 = 51,380,224 elements: 2,157,969,408 >= 2^31; 41 samples fit
//
// CostModel applies the limits to the device of a profile, `estimate` to the software of a row.
//
// Tested by library_limits_test and large_calls_test (tests/).
#ifndef SPILLWAY_MODEL_COST_LIBRARY_LIMITS_H_
#define SPILLWAY_MODEL_COST_LIBRARY_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/profile/machine.h"
#include "model/step/launch.h"

namespace spillway {

// The elements that 32-bit indices reach.
constexpr std::int64_t kMostIndexed = (std::int64_t{1} << 31) - 1;

enum class LargeTensors : std::uint8_t { kRefused, kTaken, kUnknown };

struct LibraryLimit {
  const char* library;
  std::optional<OpKind> op;  // nullopt: all that no other row of the library names
  const char* versions;
  LargeTensors large;
  const char* source;
};
// The table. An op without a report is kUnknown and is not refused.
const std::vector<LibraryLimit>& LibraryLimits();
const char* LargeTensorsName(LargeTensors large);  // "refused", "taken", "unknown"

// The elements of the launch's largest tensor.
std::int64_t LargestTensor(const Launch& launch);
// True if the launch has a tensor beyond the indices, and some version of the library refuses such a launch.
bool IsLarge(const Launch& launch);
// `version`: of cuDNN, "8.9"; "" is taken for one before 9.3, as the profiles' are.
bool TakesLargeTensors(const std::string& version);
// The version of cuDNN that the profile names: the device's, else that of the launches timed on it; "": none.
const std::string& CudnnVersion(const Device& device);
// A GPU with kernel models, by whose library large tensors are refused. Of a device without models nothing is known.
bool RefusesLargeTensors(const Device& device);
// Why cuDNN does not take the launch whole, with the samples that it takes, after `name`; "": it does, or nothing is
// known.
std::string LargeTensorRefusal(const Launch& launch, const std::string& version, const std::string& name = "");
// The samples of each call into which PyTorch divides a large convolution, at least one. A call takes 2^28 elements
// forward, 2^27 for the gradient of the data, 2^29 for the gradient of the filter. 0: a single sample is too large, and
// PyTorch runs kernels of its own.
// Source: pytorch/pytorch, aten/src/ATen/native/cudnn/Conv_v7.cpp, split_batch_dim_to_32bit_out and what calls it.
std::int64_t SamplesOfDividedCall(const Launch& launch);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_LIBRARY_LIMITS_H_
