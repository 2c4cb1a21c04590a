// Which operands of an op its step leaves fresh, and what they hold.
#include <algorithm>

#include "calibrate/cpu/bench_kernel.h"

namespace spillway {
namespace {

bool Names(const std::vector<TensorId>& list, TensorId tensor) {
  return std::find(list.begin(), list.end(), tensor) != list.end();
}

bool Touches(const Op& op, TensorId tensor) { return Names(op.reads, tensor) || Names(op.writes, tensor); }

std::vector<TensorId> TensorsOf(const Op& op) {
  std::vector<TensorId> tensors = op.reads;
  for (const TensorId tensor : op.writes) {
    if (!Names(tensors, tensor)) tensors.push_back(tensor);
  }
  return tensors;
}

Bytes BytesOf(const TrainingStep& step, TensorId tensor) {
  return step.tensors[static_cast<std::size_t>(tensor)].bytes;
}

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
    if (!Names(writer.writes, tensor)) continue;
    if (writer.kind == OpKind::kRelu || writer.kind == OpKind::kDropout) return true;
    const bool keeps = writer.kind == OpKind::kMaxPool || writer.kind == OpKind::kLrn;
    return keeps && writer.pass == Pass::kForward && IsSparse(step, id, writer.reads.front());
  }
  return false;
}

}  // namespace

std::vector<BenchOperand> BenchOperands(const TrainingStep& step, OpId op, Bytes reach) {
  constexpr Bytes kAlignment = 512;  // as in an arena
  std::vector<BenchOperand> operands;
  Bytes offset = 0;
  for (const TensorId tensor : TensorsOf(step.ops[static_cast<std::size_t>(op)])) {
    BenchOperand operand{.tensor = tensor, .bytes = BytesOf(step, tensor), .offset = offset};
    operand.since = TouchedSince(step, op, tensor, reach);
    operand.fresh = operand.since <= reach;
    operand.sparse = IsSparse(step, op, tensor);
    offset += (operand.bytes + kAlignment - 1) / kAlignment * kAlignment;
    operands.push_back(operand);
  }
  return operands;
}

}  // namespace spillway
