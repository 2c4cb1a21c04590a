#include "calibrate/ops/operand_ring.h"

#include <algorithm>

namespace spillway {
namespace {

const BenchOperand* Find(std::span<const BenchOperand> operands, TensorId tensor) {
  const auto found = std::find_if(operands.begin(), operands.end(),
                                  [tensor](const BenchOperand& operand) { return operand.tensor == tensor; });
  return found == operands.end() ? nullptr : &*found;
}

Bytes EndOf(std::span<const BenchOperand> operands) {
  if (operands.empty()) return 0;
  return operands.back().offset + RoundUp(operands.back().bytes, OperandRing::kAlignment);
}

}  // namespace

OperandRing::OperandRing(const TrainingStep& step, OpId op, BenchProtocol protocol, const RingSizes& sizes, Bytes more)
    : step_(step),
      op_(op),
      forward_(NeedsForward(this->op()) ? ForwardOf(step, this->op()) : kNoOp),
      turns_(protocol != BenchProtocol::kWarm),
      cache_(sizes.cache),
      operands_(BenchOperands(step, op, sizes.cache / 2)) {
  for (const TensorId tensor : this->op().reads) reads_.push_back(Find(operands_, tensor)->offset);
  for (const TensorId tensor : this->op().writes) writes_.push_back(Find(operands_, tensor)->offset);
  more_ = EndOf(operands_);
  set_bytes_ = more_ + RoundUp(more, kAlignment);
  if (turns_) {
    sets_ = static_cast<int>(std::clamp<Bytes>(sizes.ring / std::max<Bytes>(set_bytes_, 1), 1, sizes.most_sets));
  }
  if (protocol != BenchProtocol::kStep) return;
  std::copy_if(operands_.begin(), operands_.end(), std::back_inserter(fresh_),
               [](const BenchOperand& operand) { return operand.fresh; });
  std::stable_sort(fresh_.begin(), fresh_.end(),
                   [](const BenchOperand& a, const BenchOperand& b) { return a.since > b.since; });
}

bool OperandRing::Rewind(int runs) {
  if (!turns_ || next_ + runs <= sets_) return false;
  next_ = 0;
  return bytes() < cache_;
}

void OperandRing::PlaceIn(std::byte* set, Places* places) const {
  places->reads.clear(), places->writes.clear();
  for (const Bytes offset : reads_) places->reads.push_back(set + offset);
  for (const Bytes offset : writes_) places->writes.push_back(set + offset);
}

Bytes OperandRing::ForwardBytes() const { return EndOf(BenchOperands(step_, forward_, 0)); }

OperandRing::Places OperandRing::PlaceForward(std::byte* set, std::byte* beside, const Fill& fill) const {
  const std::vector<BenchOperand> operands = BenchOperands(step_, forward_, 0);
  const auto place = [&](TensorId tensor) -> void* {
    if (const BenchOperand* mine = Find(operands_, tensor)) return set + mine->offset;
    const BenchOperand& other = *Find(operands, tensor);
    fill(beside + other.offset, other);
    return beside + other.offset;
  };
  const Op& op = step_.ops[static_cast<std::size_t>(forward_)];
  Places places;
  for (const TensorId tensor : op.reads) places.reads.push_back(place(tensor));
  for (const TensorId tensor : op.writes) places.writes.push_back(place(tensor));
  return places;
}

}  // namespace spillway
