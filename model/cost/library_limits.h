// Which calls of a library take no tensor of 2^31 elements or more, whatever memory there is. Such a call has to be
// divided, along the batch where the op can be.
//
//   convolution, 42 samples of 64 x 64 x 112 x 112 = 51,380,224 elements: 2,157,969,408 >= 2^31; 41 samples fit
//
// Tested by library_limits_test (tests/).
#ifndef SPILLWAY_MODEL_COST_LIBRARY_LIMITS_H_
#define SPILLWAY_MODEL_COST_LIBRARY_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
// The table; what nobody has reported is kUnknown, and is not refused.
const std::vector<LibraryLimit>& LibraryLimits();
const char* LargeTensorsName(LargeTensors large);  // "refused", "taken", "unknown"

// The elements of the launch's largest tensor.
std::int64_t LargestTensor(const Launch& launch);
// Why cuDNN does not take the launch whole, with the samples that it takes; "": it does, or nothing is known.
// `version`: of cuDNN, "8.9"; "" is taken for one before 9.3, as the profiles' are.
std::string LargeTensorRefusal(const Launch& launch, const std::string& version);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_LIBRARY_LIMITS_H_
