// The launches that a recorded call is, by its name, shapes and scalars: what the laws of a machine can time.
//
// A row for each operator of PyTorch (native_functions.yaml) says how its shapes become launches: the table in
// call_launches.cc. They are those that our own unrolled step has for the same layer. A call that does several passes,
// as backward of a convolution does, becomes a launch for each. A new kind of op is a row and a function.
//
// Tested by call_launches_test (tests/model/).
#ifndef SPILLWAY_MODEL_RECORDED_CALL_LAUNCHES_H_
#define SPILLWAY_MODEL_RECORDED_CALL_LAUNCHES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/step/launch.h"

namespace spillway {

// A tensor that a call was given or returned.
struct RecordedOperand {
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> strides{};  // in elements; empty: contiguous
  std::string type{};                   // "float32"; "": not known
  double Elements() const;
};

// What a recording says of a call.
struct RecordedArguments {
  std::string op{};  // "aten.convolution.default"
  Pass pass = Pass::kForward;
  std::vector<RecordedOperand> inputs{}, outputs{};
  std::vector<std::string> scalars{};  // its other arguments in order, lists of them flat
  std::string precision = "fp32";      // of products of fp32 tensors, and of tensors whose type is not known
};

// nullopt: no row, or shapes and scalars that the row does not understand. Empty: the call runs no kernel.
std::optional<std::vector<Launch>> LaunchesOfCall(const RecordedArguments& call);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_CALL_LAUNCHES_H_
