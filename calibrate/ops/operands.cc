#include "calibrate/ops/operands.h"

#include <algorithm>
#include <cmath>

#include "hw/text/lists.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

bool Touches(const Op& op, TensorId tensor) { return Contains(op.reads, tensor) || Contains(op.writes, tensor); }

std::vector<TensorId> TensorsOf(const Op& op) {
  std::vector<TensorId> tensors = op.reads;
  for (const TensorId tensor : op.writes) {
    AddOnce(tensors, tensor);
  }
  return tensors;
}

const Tensor& TensorOf(const TrainingStep& step, TensorId tensor) {
  return step.tensors[static_cast<std::size_t>(tensor)];
}

Bytes BytesOf(const TrainingStep& step, TensorId tensor) { return TensorOf(step, tensor).bytes; }

// The op `back` places before `op`, the end of the step coming before its beginning.
const Op& OpBefore(const TrainingStep& step, OpId op, std::size_t back) {
  const std::size_t count = step.ops.size();
  return step.ops[(static_cast<std::size_t>(op) + count - back) % count];
}

Bytes TouchedSince(const TrainingStep& step, OpId op, TensorId tensor, Bytes reach) {
  Bytes since = 0;
  for (std::size_t back = 1; back < step.ops.size() && since <= reach; ++back) {
    const Op& before = OpBefore(step, op, back);
    if (Touches(before, tensor)) return since;
    for (const TensorId other : TensorsOf(before)) since += BytesOf(step, other);
  }
  return reach + 1;
}

// Whether its zeros come from a ReLU, directly or through what keeps them.
bool IsSparse(const TrainingStep& step, OpId op, TensorId tensor) {
  for (OpId id = op; id-- > 0;) {
    const Op& writer = step.ops[static_cast<std::size_t>(id)];
    if (!Contains(writer.writes, tensor)) continue;
    const ZeroEffect zeros = TraitsOf(writer.kind).zeros;
    if (zeros == ZeroEffect::kMakes) return true;
    const bool keeps = zeros == ZeroEffect::kKeeps;
    return keeps && writer.pass == Pass::kForward && IsSparse(step, id, writer.reads.front());
  }
  return false;
}

// No power of two, so that neighbouring tensors do not hold the same numbers at the same distance.
constexpr std::size_t kRandomNumbers = 262'139;

}  // namespace

const char* BenchProtocolName(BenchProtocol protocol) {
  return OperandStateNames()[static_cast<std::size_t>(protocol)].c_str();
}

std::vector<BenchOperand> BenchOperands(const TrainingStep& step, OpId op, Bytes reach) {
  constexpr Bytes kAlignment = 512;  // as in an arena
  std::vector<BenchOperand> operands;
  Bytes offset = 0;
  for (const TensorId tensor : TensorsOf(step.ops[static_cast<std::size_t>(op)])) {
    const Tensor& held = TensorOf(step, tensor);
    BenchOperand operand{.tensor = tensor, .type = held.type, .bytes = held.bytes, .offset = offset};
    operand.since = TouchedSince(step, op, tensor, reach);
    operand.fresh = operand.since <= reach;
    operand.sparse = IsSparse(step, op, tensor);
    offset += RoundUp(operand.bytes, kAlignment);
    operands.push_back(operand);
  }
  return operands;
}

bool FindsWorkspaceFresh(const TrainingStep& step, OpId op, Bytes reach) {
  Bytes since = 0;
  for (std::size_t back = 1; back < step.ops.size() && since <= reach; ++back) {
    const Op& before = OpBefore(step, op, back);
    if (HasAlgorithms(before.kind)) return true;
    for (const TensorId other : TensorsOf(before)) since += BytesOf(step, other);
  }
  return false;
}

bool NeedsForward(const Op& op) { return op.pass == Pass::kBackward && TraitsOf(op.kind).backward_needs_forward; }

OpId ForwardOf(const TrainingStep& step, const Op& op) {
  for (OpId id = 0; id < static_cast<OpId>(step.ops.size()); ++id) {
    const Op& other = step.ops[static_cast<std::size_t>(id)];
    if (other.layer == op.layer && other.kind == op.kind && other.pass == Pass::kForward) return id;
  }
  return kNoOp;
}

// Sums of uniform numbers are normal enough.
std::vector<float> BenchNumbers(bool sparse) {
  std::vector<float> numbers(kRandomNumbers);
  std::uint64_t state = 1;  // SplitMix64
  for (float& number : numbers) {
    float sum = 0;
    const std::uint64_t bits = SplitMix(state += kGolden);
    for (int k = 0; k < 4; ++k) sum += static_cast<float>((bits >> (16 * k)) & 0xffff) / 65536.0f - 0.5f;
    number = sum * std::sqrt(3.0f);
    if (sparse) number = std::max(number, 0.0f);
  }
  return numbers;
}

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

void OperandRing::FillSets(const Fill& fill, const std::function<void(std::byte*, int)>& make_saved) const {
  for (int k = 0; k < sets_; ++k) {
    for (const BenchOperand& operand : operands_) fill(Set(k) + operand.offset, operand);
    if (forward_ != kNoOp) make_saved(Set(k), k);
  }
}

std::vector<std::int32_t> OperandRing::Labels() const {
  const Shape& in = op().shape.in;
  std::vector<std::int32_t> labels(TraitsOf(op().kind).labels ? static_cast<std::size_t>(in.n * in.Spatial()) : 0);
  for (std::size_t k = 0; k < labels.size(); ++k)
    labels[k] = static_cast<std::int32_t>(k % static_cast<std::size_t>(in.c));
  return labels;
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
