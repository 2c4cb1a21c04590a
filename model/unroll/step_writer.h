// The machinery with which layer kinds write a training step: result tensors, parameters, gradients and ops.
//
// Call protocol: Build() walks the layers forward and then backward and calls the kinds' functions; those may use
// everything below it. "The layer" is always the one whose ops are being written.
//
// Gradients. Every layer result has a slot for the tensor that holds its gradient. The first contribution fills it;
// where a result has several readers, later ones are added to it, by the contributing op itself (accumulate) or by an
// add of its own (StepOptions::separate_accumulation). The backward of an add hands its output's gradient to several
// slots without any op:
//
//   y = add(a, b):   slot of y --> T       slot of a --> T <-- slot of b
//
// As long as another layer has yet to read T through its slot, adding to T would spoil it; then the contribution goes
// to a copy of T (an op of kind kCopy), which takes the slot.
#ifndef SPILLWAY_MODEL_UNROLL_STEP_WRITER_H_
#define SPILLWAY_MODEL_UNROLL_STEP_WRITER_H_

#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"

namespace spillway {

class StepWriter {
 public:
  // Owns nothing: both must outlive it.
  StepWriter(const Network& network, const StepOptions& options);
  TrainingStep Build();  // once

  const Layer& layer() const { return network_->layers[current_]; }
  const LayerAttributes& attributes() const { return layer().attributes; }
  const StepOptions& options() const { return *options_; }
  std::size_t inputs() const { return layer().inputs.size(); }
  const Shape& InputShape(std::size_t k = 0) const { return network_->InputShape(layer(), k); }

  // Forward: where the layer's inputs are and where its result goes. Exactly one of the three places must be chosen.
  TensorId Input(std::size_t k = 0) const { return values_[InputValue(k)]; }
  // The layer's inputs as operands of an op that reads them all, each the whole result.
  std::vector<OpSlice> InputSlices() const;
  TensorId NewResult();           // a tensor of its own
  TensorId NewAuxiliaryResult();  // the same, kept for backward but never classified: the loss
  TensorId NewInput();            // there before the step: a further input
  TensorId OverwriteInput();      // the tensor of input 0
  // Nobody needs input 0 as it is after this layer has read it, so the result may take its place.
  bool MayOverwriteInput() const;
  TensorId Result() const { return values_[current_ + 1]; }

  // In the type in which the layer computes, where autocast narrows its kind and its parameters.
  TensorId Parameter(std::size_t k) const {
    return NarrowsParameters() ? parameter_copies_[current_][k] : parameters_[current_][k];
  }
  // Its layer is not frozen.
  bool Trains(std::size_t k) const { return !network_->layers[OwnerOf(k)].attributes.frozen; }
  // Made at the first call, in the type of Parameter(k); EmitParameterGradient where it may be shared. Of a frozen
  // parameter, for an op that writes it beside other results, a tensor that nobody reads.
  TensorId ParameterGradient(std::size_t k);
  // A small result kept for backward, of a type of its own; the k-th one made by the layer.
  void NewAuxiliary(const char* name, const Shape& shape, DataType type);
  TensorId Auxiliary(std::size_t k) const { return auxiliaries_[current_][k]; }

  // An op of the layer with its usual shape, named after the pass or, if given, `label`. Emit puts it at the end.
  Op NewOp(OpKind kind, Pass pass, std::vector<TensorId> reads, std::vector<TensorId> writes,
           const std::string& label = "") const;
  void Emit(Op op);
  // An op that casts a tensor of that shape; `to` kNoTensor: still without a result.
  Op NewCast(Pass pass, TensorId from, TensorId to, const Shape& shape) const;

  // The type that the layer computes in, the network's, and whether they differ: under autocast.
  DataType Type() const;
  DataType WideType() const { return network_->type; }
  bool Narrows() const { return Type() != WideType(); }
  // A result within the layer, by the order in which they are made; backward may read it as it reads the layer's own.
  TensorId NewInner(const std::string& name, const Shape& shape, DataType type);
  TensorId Inner(std::size_t k) const { return inner_[current_][k]; }

  // Backward.
  TensorId OutputGradient() const;
  TensorId NewInnerGradient(const std::string& name, const Shape& shape, DataType type);
  // Emits `op`, whose result is the gradient of parameter k, or a further part of it where the parameter is shared.
  // Nothing of a frozen one.
  void EmitParameterGradient(std::size_t k, Op op);
  // Input k or anything before it has parameters that are trained. Nothing is computed for inputs without.
  bool WantsGradient(std::size_t k = 0) const { return wants_[InputValue(k)]; }
  bool HasGradient(std::size_t k) const { return slots_[InputValue(k)] != kNoTensor; }
  // Fills the slot of input k, REQUIRES: it is empty.
  TensorId NewInputGradient(std::size_t k);
  // Emits `op`, whose first result is a contribution to the gradient of input k; that tensor is put in front of
  // op.writes here. `overwrites` = the op can overwrite the output's gradient (used if the options want it).
  void EmitInputGradient(std::size_t k, Op op, bool overwrites = false);
  // A contribution to the gradient of input k as a tensor of its own, for ops that write several; AddGradientPart once it
  // is written. Of an input whose gradient nobody wants, a tensor that nobody reads.
  TensorId NewGradientPart(std::size_t k);
  void AddGradientPart(std::size_t k, TensorId part);
  // The output's gradient is also a contribution to the gradient of input k.
  void ShareGradient(std::size_t k);

 private:
  std::size_t InputValue(std::size_t k) const { return static_cast<std::size_t>(layer().inputs[k] + 1); }
  TensorId NewTensor(std::string name, const Shape& shape, TensorClass use) {
    return NewTensor(std::move(name), shape, use, network_->type);
  }
  TensorId NewTensor(std::string name, const Shape& shape, TensorClass use, DataType type);
  TensorId NewGradient(std::size_t value);
  DataType TypeOfValue(std::size_t value) const;
  bool NarrowsParameters() const;
  bool TrainsAny() const;                  // of the layer's parameters, one that is another layer's among them
  TensorId OwnGradient(std::size_t k);     // in the parameter's type
  TensorId NarrowGradient(std::size_t k);  // in the layer's
  void EmitOwnGradient(std::size_t k, Op op);
  const Shape& ValueShape(std::size_t value) const;
  void Prepare();
  void MakeParameters();
  void CopyParameters();
  void WidenGradients();
  void Forward();
  void Backward();
  void FillSlot(std::size_t value, TensorId gradient);
  void ClearSlot(std::size_t value);
  void MakeExclusive(std::size_t value);
  void AddToSlot(std::size_t value, TensorId part);
  Op NewGradientOp(OpKind kind, std::size_t value, TensorId result);
  // The network's own, or that of the options.
  const Optimizer& UsedOptimizer() const {
    return network_->optimizer != nullptr ? *network_->optimizer : *options_->optimizer;
  }
  // Whose parameter k is: this layer's, or that of the layer which it is tied to.
  std::size_t OwnerOf(std::size_t k) const {
    return k == 0 && layer().tied != kNotTied ? static_cast<std::size_t>(layer().tied) : current_;
  }
  // Parameters that have a gradient, in order; the states of each follow those of the one before.
  struct Trained {
    std::vector<TensorId> parameters, gradients, states;
  };
  Trained TrainedIn(std::size_t first, std::size_t last) const;  // the layers [first, last)
  Op NewListPass(const std::string& name, const Trained& trained, ListPass pass, std::int64_t tensors) const;
  void EmitUpdates(std::size_t first, std::size_t last);
  void EmitUpdate(std::size_t k);
  void EmitListUpdates(std::size_t first, std::size_t last);
  void EmitOnGradients();
  void RefuseUpdatesTooEarly() const;  // UserError
  void Classify();

  const Network* network_;
  const StepOptions* options_;
  TrainingStep step_;
  std::size_t current_ = 0;  // index of the layer

  // A value is the network's input (0) or a layer's result (LayerId + 1).
  std::vector<TensorId> values_;     // by value: the tensor that holds it
  std::vector<int> readers_;         // by value: layers reading it, counted once per use
  std::vector<bool> wants_;          // by value: whether its gradient is wanted
  std::vector<TensorId> slots_;      // by value: the tensor that holds its gradient
  std::vector<int> gradient_count_;  // by value: gradient tensors made for it
  std::vector<int> gradient_ops_;    // by value: copies and adds made for it
  std::vector<int> sharers_;         // by tensor: slots of layers not yet done that hold it
  std::vector<std::vector<TensorId>> parameters_, parameter_gradients_, auxiliaries_, inner_;  // by layer
  std::vector<std::vector<TensorId>> parameter_copies_, narrow_gradients_;  // by layer that narrows them
  std::vector<std::vector<std::vector<TensorId>>> states_;                  // the optimizer's, by layer and parameter
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UNROLL_STEP_WRITER_H_
