// Bytes that stay alive although no op reads them any more: a variable of the program, or a hook, holds them.
#include <algorithm>

#include "hw/text/lists.h"
#include "model/recorded/recorded_graph.h"
#include "model/step/launch.h"

namespace spillway {

namespace {

constexpr Bytes kBufferUnit = 512;  // as buffers of the step are rounded
// Autograd releases what a call saved when the last product of that call's gradient is made. That is a few calls after the
// last read. Such a short hold only puts the last use off, and the tensor may leave before. The limit was chosen
// with the holds of one network in sight, GPT-2.
constexpr OpId kShortHold = 32;

std::vector<OpId> LastUses(const TrainingStep& step) {
  std::vector<OpId> last(step.tensors.size(), kNoOp);
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    for (const auto* tensors : {&step.ops[Index(op)].reads, &step.ops[Index(op)].writes}) {
      for (const TensorId t : *tensors) last[Index(t)] = op;
    }
  }
  return last;
}

// `more[op]`: bytes that begin to be held there, less those that ended.
void HoldBeside(const std::vector<Bytes>& more, std::vector<RecordedNode>& nodes) {
  Bytes held = 0;
  for (std::size_t op = 0; op < nodes.size(); ++op) {
    held += more[op];
    nodes[op].call.held = held;
    for (RecordedWay& way : nodes[op].ways) way.workspace = std::min(kMostWorkspace, way.workspace + held);
  }
}

}  // namespace

void ApplyHolds(const std::vector<RecordedHold>& holds, TrainingStep& step, std::vector<RecordedNode>& nodes) {
  const std::vector<OpId> last = LastUses(step);
  std::vector<OpId> until(step.tensors.size(), kNoOp);
  for (const RecordedHold& hold : holds) until[Index(hold.tensor)] = std::max(until[Index(hold.tensor)], hold.until);
  std::vector<Bytes> more(step.ops.size() + 1, 0);
  for (std::size_t t = 0; t < until.size(); ++t) {
    Tensor& tensor = step.tensors[t];
    if (until[t] <= last[t] || tensor.Traits().resident || tensor.Traits().on_host) continue;
    if (step.IsForward(until[t])) {
      const Bytes buffer = (tensor.bytes + kBufferUnit - 1) / kBufferUnit * kBufferUnit;
      more[Index(last[t]) + 1] += buffer;
      more[Index(until[t]) + 1] -= buffer;
      continue;
    }
    const bool is_short = !step.IsForward(last[t]) && until[t] - last[t] <= kShortHold;
    for (OpId op = last[t] + 1; is_short && op <= until[t]; ++op) {
      step.ops[Index(op)].reads.push_back(static_cast<TensorId>(t));
    }
    if (is_short) continue;
    step.ops[Index(until[t])].reads.push_back(static_cast<TensorId>(t));
    tensor.use = TensorClass::kAuxiliary;
  }
  std::erase_if(step.maps, [&](TensorId t) { return step.tensors[Index(t)].use == TensorClass::kAuxiliary; });
  HoldBeside(more, nodes);
}

}  // namespace spillway
