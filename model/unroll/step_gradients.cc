// The gradient slots of StepWriter: who contributes to which tensor, and when that tensor must be copied first.
#include <cassert>
#include <utility>

#include "model/unroll/step_writer.h"

namespace spillway {

const Shape& StepWriter::ValueShape(std::size_t value) const {
  return value == 0 ? network_->input : network_->layers[value - 1].shape;
}

TensorId StepWriter::OutputGradient() const {
  assert(slots_[current_ + 1] != kNoTensor);
  return slots_[current_ + 1];
}

TensorId StepWriter::NewGradient(std::size_t value) {
  const int count = ++gradient_count_[value];
  const std::string suffix = count == 1 ? "" : std::to_string(count);
  return NewTensor(network_->layers[value - 1].name + ":gradient" + suffix, ValueShape(value), TensorClass::kGradient,
                   TypeOfValue(value));
}

void StepWriter::FillSlot(std::size_t value, TensorId gradient) {
  ClearSlot(value);
  slots_[value] = gradient;
  ++sharers_[static_cast<std::size_t>(gradient)];
}

void StepWriter::ClearSlot(std::size_t value) {
  if (slots_[value] != kNoTensor) --sharers_[static_cast<std::size_t>(slots_[value])];
  slots_[value] = kNoTensor;
}

TensorId StepWriter::NewInputGradient(std::size_t k) {
  assert(!HasGradient(k));
  FillSlot(InputValue(k), NewGradient(InputValue(k)));
  return slots_[InputValue(k)];
}

Op StepWriter::NewGradientOp(OpKind kind, std::size_t value, TensorId result) {
  Op op = NewOp(kind, Pass::kBackward, {slots_[value]}, {result});
  const int count = ++gradient_ops_[value];
  op.name = network_->layers[value - 1].name + (kind == OpKind::kCopy ? ":copy_gradient" : ":add_gradient") +
            (count == 1 ? "" : std::to_string(count));
  op.shape = {.in = ValueShape(value), .out = ValueShape(value)};
  op.type = TypeOfValue(value);
  return op;
}

void StepWriter::MakeExclusive(std::size_t value) {
  if (sharers_[static_cast<std::size_t>(slots_[value])] == 1) return;
  const TensorId copy = NewGradient(value);
  Emit(NewGradientOp(OpKind::kCopy, value, copy));
  FillSlot(value, copy);
}

void StepWriter::AddToSlot(std::size_t value, TensorId part) {
  const TensorId sum = slots_[value];
  const bool exclusive = sharers_[static_cast<std::size_t>(sum)] == 1;
  if (exclusive && !options_->separate_accumulation) {
    Op op = NewGradientOp(OpKind::kAdd, value, sum);
    op.reads = {part, sum};
    op.details.slices = {{0, WholeOf(ValueShape(value))}};
    op.accumulate = true;
    Emit(std::move(op));
    return;
  }
  const TensorId result = NewGradient(value);
  Op op = NewGradientOp(OpKind::kAdd, value, result);
  op.details.slices = {{0, WholeOf(ValueShape(value))}, {part == op.reads[0] ? 0U : 1U, WholeOf(ValueShape(value))}};
  op.reads.push_back(part);
  op.shape.operands = 2;
  Emit(std::move(op));
  FillSlot(value, result);
}

void StepWriter::EmitInputGradient(std::size_t k, Op op, bool overwrites) {
  const std::size_t value = InputValue(k);
  if (!HasGradient(k)) {
    const bool alone = overwrites && sharers_[static_cast<std::size_t>(OutputGradient())] == 1;
    FillSlot(value, alone && options_->inplace_gradient ? OutputGradient() : NewGradient(value));
    op.writes.insert(op.writes.begin(), slots_[value]);
    Emit(std::move(op));
  } else if (options_->separate_accumulation) {
    const TensorId part = NewGradient(value);
    op.writes.insert(op.writes.begin(), part);
    Emit(std::move(op));
    AddToSlot(value, part);
  } else {
    MakeExclusive(value);
    op.accumulate = true;
    op.reads.push_back(slots_[value]);
    op.writes.insert(op.writes.begin(), slots_[value]);
    Emit(std::move(op));
  }
}

TensorId StepWriter::NewInnerGradient(const std::string& name, const Shape& shape, DataType type) {
  return NewTensor(layer().name + ":" + name + ":gradient", shape, TensorClass::kGradient, type);
}

TensorId StepWriter::NewGradientPart(std::size_t k) {
  if (WantsGradient(k)) return NewGradient(InputValue(k));
  return NewInnerGradient("unused" + std::to_string(k), InputShape(k), Type());
}

void StepWriter::AddGradientPart(std::size_t k, TensorId part) {
  if (!WantsGradient(k)) return;
  if (HasGradient(k)) {
    AddToSlot(InputValue(k), part);
  } else {
    FillSlot(InputValue(k), part);
  }
}

void StepWriter::ShareGradient(std::size_t k) {
  if (HasGradient(k)) {
    AddToSlot(InputValue(k), OutputGradient());
  } else {
    FillSlot(InputValue(k), OutputGradient());
  }
}

}  // namespace spillway
