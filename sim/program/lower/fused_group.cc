// Ops that run part by part together (OpDecision::fused). A tensor that they stream has one tile in each part, which
// all of them share.
//
//   conv reads x, writes y; relu reads y, writes z; no op uses y later
//
//   h2d      x 0 | x 1 | x 2 |                           y never leaves the device: its tile is freed after relu, on
//   compute      conv 0 relu 0 | conv 1 relu 1 | ...     the stream of kernels, which waits for no copy.
//   d2h                        | z 0           | z 1     z 0 goes out as soon as the last op that writes it is done.
#include <algorithm>
#include <span>
#include <vector>

#include "sim/program/lower/buffers.h"
#include "sim/program/lower/kernels.h"

namespace spillway {

namespace {

struct SharedOperand {
  TensorId tensor = kNoTensor;
  OpId first = kNoOp, last = kNoOp;  // of the group's ops that touch it
  std::size_t touch = 0;             // of the first one
  OpId last_write = kNoOp;           // kNoOp: it is only read
  bool comes_in = false;             // the first one reads it
  bool goes_out = false;             // it is written, and an op after the group uses it
  std::vector<BufferId> tiles{};     // by part
};
using Operands = std::vector<SharedOperand>;  // in the order in which the ops come to them

void AddOperands(const WalkInput& in, OpId op, Operands& operands) {
  const std::span<const StepTables::Touch> touches = in.tables.Touches(op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    const TensorId t = touches[k].tensor;
    if (!in.Streams(op, t)) continue;
    auto found = std::find_if(operands.begin(), operands.end(), [t](const SharedOperand& o) { return o.tensor == t; });
    if (found == operands.end()) {
      operands.push_back({.tensor = t, .first = op, .touch = k, .comes_in = touches[k].access != Access::kWrite});
      operands.back().tiles.assign(in.launches.FirstRun(op).parts.size(), kNoBuffer);
      found = operands.end() - 1;
    }
    found->last = op;
    if (touches[k].access != Access::kRead) found->last_write = op;
    found->goes_out = found->last_write != kNoOp && !touches[k].last;
  }
}

BoxId BoxOf(const WalkInput& in, const SharedOperand& operand, std::size_t part) {
  return in.launches.FirstRun(operand.first).parts[part].BoxOf(operand.touch);
}

void CopyIn(PlanWalk& w, Operands& operands, std::size_t part) {
  for (SharedOperand& operand : operands) {
    if (!operand.comes_in) continue;
    const BoxId box = BoxOf(w.in, operand, part);
    operand.tiles[part] = AllocateTile(w, operand.tensor, box, w.in.in_stream);
    CopyTile(w, operand.tensor, box, operand.tiles[part], Direction::kHostToDevice);
  }
}

void RunFusedPart(PlanWalk& w, OpId op, std::size_t part, Operands& operands, BufferId workspace) {
  const std::span<const StepTables::Touch> touches = w.in.tables.Touches(op);
  std::vector<BufferId> tiles(touches.size(), kNoBuffer);
  for (SharedOperand& operand : operands) {
    const auto touch = std::find_if(touches.begin(), touches.end(),
                                    [&](const StepTables::Touch& one) { return one.tensor == operand.tensor; });
    if (touch == touches.end()) continue;
    BufferId& tile = operand.tiles[part];
    if (tile == kNoBuffer) tile = AllocateTile(w, operand.tensor, BoxOf(w.in, operand, part), kComputeStream);
    tiles[static_cast<std::size_t>(touch - touches.begin())] = tile;
  }
  RunPart(w, w.FirstRun(op), part, workspace, tiles);
}

// Complete tiles go out; tiles that no later op of the group needs, and that stay here, are freed.
void LeaveFusedPart(PlanWalk& w, OpId op, std::size_t part, const Operands& operands) {
  for (const SharedOperand& operand : operands) {
    if (operand.goes_out && operand.last_write == op) {
      CopyTile(w, operand.tensor, BoxOf(w.in, operand, part), operand.tiles[part], Direction::kDeviceToHost);
    } else if (!operand.goes_out && operand.last == op) {
      FreeBuffer(w, operand.tiles[part], kComputeStream);
    }
  }
}

void FreeCopiedOut(PlanWalk& w, const Operands& operands, std::size_t part) {
  for (const SharedOperand& operand : operands) {
    if (operand.goes_out) FreeCopiedTile(w, operand.tiles[part]);
  }
}

}  // namespace

void RunFused(PlanWalk& w, OpId first, OpId end, BufferId workspace) {
  Operands operands;
  for (OpId op = first; op < end; ++op) AddOperands(w.in, op, operands);
  const auto copy_in = [&](std::size_t part) {
    w.state.now = first;
    CopyIn(w, operands, part);
  };
  const auto run = [&](std::size_t part) {
    for (OpId op = first; op < end; ++op) {
      w.state.now = op;
      RunFusedPart(w, op, part, operands, workspace);
      LeaveFusedPart(w, op, part, operands);
    }
  };
  PipelineParts(w.in.launches.FirstRun(first).parts.size(), w.in.launches.DepthOf(first), copy_in, run,
                [&](std::size_t part) { FreeCopiedOut(w, operands, part); });
  // A written tensor that does not go out makes its old value on the host stale.
  for (const SharedOperand& operand : operands) {
    if (operand.last_write != kNoOp) w.state[operand.tensor].host_valid = operand.goes_out;
  }
}

}  // namespace spillway
