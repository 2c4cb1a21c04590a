// The casts of a training step: copies of parameters in the type that a layer computes in, and their gradients back in
// the parameters' type (model/network/precision.h).
#include <string>
#include <utility>

#include "model/network/precision.h"
#include "model/unroll/step_writer.h"

namespace spillway {
namespace {

// "weight" of "conv1:weight".
std::string LastPart(const std::string& name) { return name.substr(name.rfind(':') + 1); }

}  // namespace

DataType StepWriter::TypeOfValue(std::size_t value) const {
  return value == 0 ? network_->type : TypeOf(*network_, network_->layers[value - 1]);
}

bool StepWriter::NarrowsParameters() const {
  const LayerKind& kind = *layer().kind;
  return kind.autocast == AutocastTo::kNarrow && !kind.wide_parameters && Narrows();
}

Op StepWriter::NewCast(Pass pass, TensorId from, TensorId to, const Shape& shape) const {
  Op op = NewOp(OpKind::kCast, pass, {from}, {});
  if (to != kNoTensor) op.writes = {to};
  op.shape = {.in = shape, .out = shape};
  op.type = network_->precision->narrow;
  op.math = MathMode::kFp32;
  return op;
}

void StepWriter::CopyParameters() {
  for (const TensorId parameter : parameters_[current_]) {
    const Tensor wide = step_.tensors[static_cast<std::size_t>(parameter)];
    const std::string name = layer().name + ":" + LastPart(wide.name);
    const TensorId copy =
        NewTensor(name + "_narrow", wide.shape, TensorClass::kParameterCopy, TypeOf(*network_, layer()));
    parameter_copies_[current_].push_back(copy);
    narrow_gradients_[current_].push_back(kNoTensor);
    Op op = NewCast(Pass::kForward, parameter, copy, wide.shape);
    op.name = name + ":cast";
    Emit(std::move(op));
  }
}

TensorId StepWriter::NarrowGradient(std::size_t k) {
  TensorId& narrow = narrow_gradients_[current_][k];
  if (narrow == kNoTensor) {
    const Tensor parameter = step_.tensors[static_cast<std::size_t>(parameters_[current_][k])];
    narrow = NewTensor(layer().name + ":" + LastPart(parameter.name) + ":gradient_narrow", parameter.shape,
                       TensorClass::kParameterCopy, TypeOf(*network_, layer()));
  }
  return narrow;
}

void StepWriter::WidenGradients() {
  for (std::size_t k = 0; k < narrow_gradients_[current_].size(); ++k) {
    const TensorId narrow = narrow_gradients_[current_][k];
    if (narrow == kNoTensor) continue;
    const Tensor from = step_.tensors[static_cast<std::size_t>(narrow)];
    Op op = NewCast(Pass::kBackward, narrow, kNoTensor, from.shape);
    op.name = from.name.substr(0, from.name.rfind('_')) + ":cast";
    EmitOwnGradient(k, std::move(op));
  }
}

}  // namespace spillway
