// In which state a measured kernel finds its operands, and what they hold: the same for all devices.
#ifndef SPILLWAY_CALIBRATE_OPS_OPERANDS_H_
#define SPILLWAY_CALIBRATE_OPS_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "model/profile/machine.h"
#include "model/step/training_step.h"

namespace spillway {

using BenchProtocol = OperandState;
const char* BenchProtocolName(BenchProtocol protocol);  // "step", "cold", "warm"; Sample::kind

// Operands of an op in one set, and which of them its step leaves fresh. Pure, for tests.
struct BenchOperand {
  TensorId tensor = kNoTensor;
  DataType type = DataType::kFp32;
  Bytes bytes = 0, offset = 0;
  Bytes since = 0;      // bytes that other ops touched since this one was; more than `reach`: not counted further
  bool fresh = false;   // `since` is at most `reach`
  bool sparse = false;  // the result of a ReLU
};
// In the order of Op::reads, then what only Op::writes names. The step is one of many: what its last ops touch is fresh
// for its first ones.
std::vector<BenchOperand> BenchOperands(const TrainingStep& step, OpId op, Bytes reach);
// True if a convolution finds its workspace in the caches. A convolution writes its workspace before it reads it, and
// the workspaces of a step share addresses. So the workspace is fresh if at most `reach` bytes were touched since the
// previous op with a workspace.
bool FindsWorkspaceFresh(const TrainingStep& step, OpId op, Bytes reach);

// True if random numbers would be no valid operand, because a forward op makes it: positions of a maximum, masks,
// statistics. ForwardOf: that op; kNoOp if the step has none.
bool NeedsForward(const Op& op);
OpId ForwardOf(const TrainingStep& step, const Op& op);

// Normal random numbers to fill operands with. Their number is no power of two, so that neighbouring tensors do not
// hold the same numbers at the same distance. `sparse`: as after a ReLU, the negative half is zero.
std::vector<float> BenchNumbers(bool sparse);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_OPERANDS_H_
