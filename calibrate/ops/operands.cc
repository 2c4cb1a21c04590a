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

}  // namespace spillway
