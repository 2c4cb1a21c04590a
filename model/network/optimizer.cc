#include "model/network/optimizer.h"

#include "hw/text/lists.h"

namespace spillway {

// Adam keeps the running means of the gradient and of its square (Kingma and Ba, 2015). AdamW decays the weights apart
// from them (Loshchilov and Hutter, 2019) and keeps the same. With a master copy: Micikevicius et al., "Mixed Precision
// Training", 2018. Beside fp32 parameters a master copy would be a second one, and there is none.
//
// PyTorch's own keep their states in the parameters' type (torch/optim/adamw.py, zeros_like). On a GPU they run over lists
// of tensors unless asked for `fused`. AdamW's lists (_multi_tensor_adamw) take, in tensors read or written:
//
//   before   decay of the weights 2, mean 3, square 2 + 3, root 2 (a list of its own), bias 2, epsilon 2
//   last     weights 4
//
// 80 bytes for each fp32 parameter, of fused 28: 2.86 times. Measured on an A100 over 10^9 parameters: 63.3 against
// 22.1 ms, 2.86 times (IMvision12/trinix, benchmarks/OPTIMIZER.md). SGD's: decay into a list of its own 3; momentum 2 + 3,
// weights 3.
//
// Decay: AdamW's is PyTorch's default, SGD's that of He et al., 2016 (arXiv 1512.03385).
const std::vector<Optimizer>& OptimizerTable() {
  static const Optimizer adam{.name = "adam",
                              .description = "Adam: two means in fp32",
                              .state_count = 2,
                              .states = {"mean", "square"},
                              .state_type = Optimizer::StateType::kFp32};
  static const std::vector<Optimizer> table = [] {
    Optimizer adamw = adam;
    adamw.weight_decay = 0.01;
    Optimizer master = adamw;
    adamw.name = "adamw";
    adamw.description = "AdamW: as Adam, with weight decay of its own";
    master.name = "adamw-master";
    master.description = "AdamW with an fp32 copy of narrower parameters";
    master.master_weights = true;
    Optimizer fused = adamw, lists = adamw, momentum = kSgdMomentum;
    fused.name = "adamw-fused";
    fused.description = "AdamW of PyTorch by one kernel: means in the parameters' type";
    fused.state_type = Optimizer::StateType::kParameters;
    lists = fused;
    lists.name = "adamw-foreach";
    lists.description = "AdamW of PyTorch by lists of tensors, its default on a GPU";
    lists.passes_before = 16;
    lists.passes_last = 4;
    momentum.name = "sgd-momentum-foreach";
    momentum.description = "SGD of PyTorch with momentum and weight decay, by lists of tensors";
    momentum.weight_decay = 1e-4;
    momentum.passes_before = 3;
    momentum.passes_last = 8;
    return std::vector<Optimizer>{kSgd, kSgdMomentum, adam, adamw, master, fused, lists, momentum};
  }();
  return table;
}

const Optimizer& OptimizerByName(const std::string& name) {
  return ByName(OptimizerTable(), name, "unknown optimizer");
}

std::vector<OptimizerState> StatesOf(const Optimizer& optimizer, DataType parameter) {
  const bool own = optimizer.state_type == Optimizer::StateType::kParameters;
  std::vector<OptimizerState> states;
  for (std::size_t k = 0; k < optimizer.state_count; ++k) {
    states.push_back({optimizer.states[k], own ? parameter : DataType::kFp32});
  }
  const bool narrow = SizeOf(parameter) < SizeOf(DataType::kFp32);
  if (optimizer.master_weights && narrow) states.push_back({"master", DataType::kFp32});
  return states;
}

std::int64_t UpdateOperands(const Optimizer& optimizer, DataType parameter) {
  std::int64_t operands = 2;  // gradient and parameter
  for (const OptimizerState& state : StatesOf(optimizer, parameter)) operands += SizeOf(state.type) / SizeOf(parameter);
  return operands;
}

}  // namespace spillway
