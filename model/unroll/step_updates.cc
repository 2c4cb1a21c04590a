// The end of a training step: what is done to the gradients of all parameters, then the updates.
//
//   gradients --unscale--> --norm of all, clip--> --update of each parameter, or of all-->
//
// What goes over lists of tensors (torch._foreach_*) is one op for all parameters, so that all gradients are there at
// once; its kernels take many tensors each. An update by lists is two ops: between them temporary results of all
// parameters stand beside all gradients. The scaler's wait of the host is left out.
#include <utility>

#include "hw/text/document.h"
#include "model/network/precision.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

void Append(const std::vector<TensorId>& more, std::vector<TensorId>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

void StepWriter::RefuseUpdatesTooEarly() const {
  const bool unscales = network_->precision != nullptr && network_->precision->scales_loss;
  if (options_->inference || !options_->update_at_once || (!network_->clips_gradients && !unscales)) return;
  throw UserError(network_->name + ": " + (network_->clips_gradients ? "clipping" : "a scaled loss") +
                  " looks at all gradients before the first update, and these step options update each parameter once" +
                  " its gradient is there; take other options, or leave " +
                  (network_->clips_gradients ? "`clip_gradients` out" : "the precision's scale out"));
}

StepWriter::Trained StepWriter::TrainedIn(std::size_t first, std::size_t last) const {
  Trained trained;
  for (std::size_t layer = first; layer < last; ++layer) {
    for (std::size_t k = 0; k < parameters_[layer].size(); ++k) {
      if (parameter_gradients_[layer][k] == kNoTensor) continue;
      trained.parameters.push_back(parameters_[layer][k]);
      trained.gradients.push_back(parameter_gradients_[layer][k]);
      Append(states_[layer][k], trained.states);
    }
  }
  return trained;
}

Op StepWriter::NewListPass(const std::string& name, const Trained& trained, ListPass pass, std::int64_t tensors) const {
  std::int64_t elements = 0;
  Op op = NewOp(OpKind::kForeach, Pass::kUpdate, trained.gradients, {});
  op.details.list_pass = pass;
  op.details.weight_decay = UsedOptimizer().weight_decay;
  for (const TensorId t : trained.parameters) {
    op.details.list.push_back(step_.tensors[static_cast<std::size_t>(t)].shape.Elements());
    elements += op.details.list.back();
  }
  op.name = name;
  op.type = network_->type;
  op.math = MathMode::kFp32;
  op.shape = {.in = {.c = elements}, .out = {.c = elements}, .operands = tensors};
  return op;
}

// Clipping is torch.nn.utils.clip_grad_norm_.
void StepWriter::EmitOnGradients() {
  current_ = network_->layers.size() - 1;
  const Trained trained = TrainedIn(0, network_->layers.size());
  if (trained.gradients.empty()) return;
  if (network_->precision != nullptr && network_->precision->scales_loss) {
    Op op = NewListPass("gradients:unscale", trained, ListPass::kUnscale, 2);
    op.writes = trained.gradients;
    Emit(std::move(op));
  }
  if (!network_->clips_gradients) return;
  const TensorId norm = NewTensor("gradient_norm", {}, TensorClass::kParameterCopy, DataType::kFp32);
  Op op = NewListPass("gradients:norm", trained, ListPass::kNorm, 1);
  op.writes = {norm};
  Emit(std::move(op));
  op = NewListPass("gradients:clip", trained, ListPass::kClip, 2);
  op.reads.push_back(norm);
  op.writes = trained.gradients;
  Emit(std::move(op));
}

void StepWriter::EmitUpdates(std::size_t first, std::size_t last) {
  if (UsedOptimizer().passes_before > 0) return EmitListUpdates(first, last);
  for (current_ = first; current_ < last; ++current_) {
    for (std::size_t k = 0; k < parameters_[current_].size(); ++k) {
      if (parameter_gradients_[current_][k] != kNoTensor) EmitUpdate(k);
    }
  }
}

void StepWriter::EmitUpdate(std::size_t k) {
  std::vector<TensorId> state{parameters_[current_][k]};
  Append(states_[current_][k], state);
  std::vector<TensorId> reads{parameter_gradients_[current_][k]};
  Append(state, reads);
  const Tensor& parameter = step_.tensors[static_cast<std::size_t>(state[0])];
  Op op = NewOp(OpKind::kUpdate, Pass::kUpdate, std::move(reads), std::move(state));
  op.name = parameter.name + ":update";
  op.type = network_->type;
  op.shape = {
      .in = parameter.shape, .out = parameter.shape, .operands = UpdateOperands(UsedOptimizer(), network_->type)};
  op.details.weight_decay = UsedOptimizer().weight_decay;
  Emit(std::move(op));
}

// The framework holds the gradients to the end.
void StepWriter::EmitListUpdates(std::size_t first, std::size_t last) {
  current_ = last - 1;
  const Trained trained = TrainedIn(first, last);
  if (trained.gradients.empty()) return;
  std::vector<TensorId> temporaries;
  for (const TensorId t : trained.parameters) {
    const Tensor parameter = step_.tensors[static_cast<std::size_t>(t)];
    temporaries.push_back(NewTensor(parameter.name + ":temporary", parameter.shape, TensorClass::kParameterCopy));
  }
  const std::string of = first == 0 && last == network_->layers.size() ? "parameters" : layer().name;
  Op passes = NewListPass(of + ":passes", trained, ListPass::kBefore, UsedOptimizer().passes_before);
  Append(trained.parameters, passes.reads);
  Append(trained.states, passes.reads);
  passes.writes = trained.states;
  Append(temporaries, passes.writes);
  Op update = NewListPass(of + ":update", trained, ListPass::kLast, UsedOptimizer().passes_last);
  update.reads = passes.reads;
  Append(temporaries, update.reads);
  update.writes = trained.parameters;
  Emit(std::move(passes));
  Emit(std::move(update));
}

}  // namespace spillway
