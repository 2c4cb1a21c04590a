// Optimizers as rows: what one keeps for each parameter, and so what an update moves.
//
// An update is one pass over memory, as fused kernels do it: it reads the gradient, reads and writes the parameter and
// every state. How the numbers are computed matters to devices only.
#ifndef SPILLWAY_MODEL_NETWORK_OPTIMIZER_H_
#define SPILLWAY_MODEL_NETWORK_OPTIMIZER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/step/tensor.h"

namespace spillway {

// A tensor of the parameter's shape that stays from step to step.
struct OptimizerState {
  const char* name = "";  // in tensors' names: "conv1:weight:momentum"
  DataType type = DataType::kFp32;
};

struct Optimizer {
  // The type of states: the parameter's, or fp32 whatever the parameter's.
  enum class StateType : std::uint8_t { kParameters, kFp32 };

  const char* name = "";
  const char* description = "";
  std::size_t state_count = 0;
  std::array<const char*, 2> states{};  // the names of the first `state_count`
  StateType state_type = StateType::kParameters;
  // PyTorch's lists of tensors (foreach): the tensors of a parameter's size that all passes before the last, and the last
  // one, read or write. Between the two a tensor of temporary results stands beside each parameter. 0: one kernel.
  std::int64_t passes_before = 0, passes_last = 0;
  double weight_decay = 0;      // share of the learning rate by which an update shrinks weights; for devices only
  bool master_weights = false;  // beside parameters narrower than fp32 keeps an fp32 copy, which it updates
};

inline constexpr Optimizer kSgd{.name = "sgd", .description = "gradient descent; keeps nothing"};
inline constexpr Optimizer kSgdMomentum{.name = "sgd-momentum",
                                        .description = "gradient descent with momentum, in the parameters' type",
                                        .state_count = 1,
                                        .states = {"momentum"}};

// "sgd", "sgd-momentum", "adam", "adamw", "adamw-master", "adamw-fused", "adamw-foreach", "sgd-momentum-foreach".
const std::vector<Optimizer>& OptimizerTable();
const Optimizer& OptimizerByName(const std::string& name);  // UserError with the nearest name

// What the optimizer keeps for a parameter of this type; the master copy, where there is one, is the last.
std::vector<OptimizerState> StatesOf(const Optimizer& optimizer, DataType parameter);

// OpShape::operands of an update: gradient, parameter and states, each counted in tensors of the parameter's type. An
// fp32 state beside a 16-bit parameter counts 2.
std::int64_t UpdateOperands(const Optimizer& optimizer, DataType parameter);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_OPTIMIZER_H_
