// Element-wise functions between layers, in one table: value, derivative, and what a framework keeps for backward.
//
// Backward takes the derivative from the input or from the result. Where it goes by the result, the result may stand in the
// input's place. Columns `saves` and `in_place` are PyTorch's choices (its derivative formulas, torch/csrc/autograd); a
// function that saves its input never works in place here. ReLU is an op kind of its own.
#ifndef SPILLWAY_MODEL_STEP_ACTIVATION_H_
#define SPILLWAY_MODEL_STEP_ACTIVATION_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace spillway {

enum class ActivationFunction : std::uint8_t {
  kSigmoid,
  kTanh,
  kSilu,
  kGelu,
  kGeluTanh,
  kLeakyRelu,
  kRelu6,
  kHardSwish,
  kHardSigmoid,
  kElu,
};

// What backward reads beside the gradient.
enum class ActivationSaves : std::uint8_t { kInput, kResult };

// Functions of one number; `slope` is that of leaky ReLU and nothing to the others.
struct ActivationTraits {
  using Function = float (*)(float, float slope);
  ActivationFunction function;
  const char* name;  // also the layer kind's
  ActivationSaves saves;
  bool in_place = false;           // may overwrite its input, and saves its result then
  Function value = nullptr;        // of the input
  Function from_input = nullptr;   // the derivative, from the input; nullptr: never asked for
  Function from_result = nullptr;  // the derivative, from the result; nullptr: does not follow from it
};
// By ActivationFunction.
extern const std::array<ActivationTraits, 10> kActivations;
inline const ActivationTraits& TraitsOf(ActivationFunction function) {
  return kActivations[static_cast<std::size_t>(function)];
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STEP_ACTIVATION_H_
