// The end of a training step: what is done to the gradients of all parameters, then the updates.
//
//   gradients --unscale--> --norm of all, clip--> --update of each parameter-->
//
// An update is one op, or two where the optimizer goes over lists of tensors: all parameters' first passes precede all
// last ones, so that the temporary results of all stand beside all gradients.
#include <utility>

#include "model/network/precision.h"
#include "model/unroll/step_writer.h"

namespace spillway {

// Calls emit(k) for the k-th parameter of each layer that has a gradient.
void StepWriter::ForEachGradient(std::size_t first, std::size_t last, const std::function<void(std::size_t k)>& emit) {
  for (current_ = first; current_ < last; ++current_) {
    for (std::size_t k = 0; k < parameters_[current_].size(); ++k) {
      if (parameter_gradients_[current_][k] != kNoTensor) emit(k);
    }
  }
}

Op StepWriter::NewListPass(std::size_t k, const char* label, std::int64_t tensors) const {
  const Tensor& parameter = step_.tensors[static_cast<std::size_t>(parameters_[current_][k])];
  Op op = NewOp(OpKind::kForeach, Pass::kUpdate, {parameter_gradients_[current_][k]}, {});
  op.name = parameter.name + ":" + label;
  op.type = network_->type;
  op.math = MathMode::kFp32;
  op.shape = {.in = parameter.shape, .out = parameter.shape, .operands = tensors};
  return op;
}

// The scaler's pass, for which the host's wait is left out, and clipping by the norm of all gradients
// (torch.nn.utils.clip_grad_norm_).
void StepWriter::EmitOnGradients() {
  const std::size_t layers = network_->layers.size();
  const auto in_place = [this](const char* label) {
    return [this, label](std::size_t k) {
      Op op = NewListPass(k, label, 2);
      op.writes = op.reads;
      if (norm_ != kNoTensor) op.reads.push_back(norm_);
      Emit(std::move(op));
    };
  };
  if (network_->precision != nullptr && network_->precision->scales_loss) {
    ForEachGradient(0, layers, in_place("unscale"));
  }
  if (!network_->clips_gradients) return;
  const TensorId norm = NewTensor("gradient_norm", {}, TensorClass::kParameterCopy, DataType::kFp32);
  bool adds = false;
  ForEachGradient(0, layers, [&](std::size_t k) {
    Op op = NewListPass(k, "norm", 1);
    if (std::exchange(adds, true)) op.reads.push_back(norm);
    op.writes = {norm};
    Emit(std::move(op));
  });
  norm_ = norm;
  if (adds) ForEachGradient(0, layers, in_place("clip"));
}

void StepWriter::EmitUpdates(std::size_t first, std::size_t last) {
  if (UsedOptimizer().passes_before == 0) return ForEachGradient(first, last, [this](std::size_t k) { EmitUpdate(k); });
  ForEachGradient(first, last, [this](std::size_t k) { EmitListUpdate(k, false); });
  ForEachGradient(first, last, [this](std::size_t k) { EmitListUpdate(k, true); });
}

void StepWriter::EmitUpdate(std::size_t k) {
  std::vector<TensorId> state{parameters_[current_][k]};
  state.insert(state.end(), states_[current_][k].begin(), states_[current_][k].end());
  std::vector<TensorId> reads{parameter_gradients_[current_][k]};
  reads.insert(reads.end(), state.begin(), state.end());
  const Tensor& parameter = step_.tensors[static_cast<std::size_t>(state[0])];
  Op op = NewOp(OpKind::kUpdate, Pass::kUpdate, std::move(reads), std::move(state));
  op.name = parameter.name + ":update";
  op.type = network_->type;
  op.shape = {
      .in = parameter.shape, .out = parameter.shape, .operands = UpdateOperands(UsedOptimizer(), network_->type)};
  Emit(std::move(op));
}

// The framework holds the gradients to the end.
void StepWriter::EmitListUpdate(std::size_t k, bool last) {
  const Optimizer& optimizer = UsedOptimizer();
  const TensorId parameter = parameters_[current_][k];
  const std::vector<TensorId>& states = states_[current_][k];
  Op op = NewListPass(k, last ? "update" : "passes", last ? optimizer.passes_last : optimizer.passes_before);
  op.reads.push_back(parameter);
  op.reads.insert(op.reads.end(), states.begin(), states.end());
  if (last) {
    op.reads.push_back(temporaries_[current_][k]);
    op.writes = {parameter};
  } else {
    const Tensor wide = step_.tensors[static_cast<std::size_t>(parameter)];
    const TensorId temporary = NewTensor(wide.name + ":temporary", wide.shape, TensorClass::kParameterCopy);
    temporaries_[current_].resize(parameters_[current_].size(), kNoTensor);
    temporaries_[current_][k] = temporary;
    op.writes = states;
    op.writes.push_back(temporary);
  }
  Emit(std::move(op));
}

}  // namespace spillway
