// Ops that run part by part together (OpDecision::fused): what they stream has one tile in each part, whoever of them
// touches it.
//
//   conv reads x, writes y; relu reads y, writes z; nobody uses y later
//
//   h2d      x 0 | x 1 | x 2 |                               y never leaves the device; its tile is freed behind relu,
//   compute      conv 0 relu 0 | conv 1 relu 1 | ...         which is on the stream of kernels: no copy is waited for.
//   d2h                        | z 0           | z 1         z 0 goes out as soon as the last op that writes it is done.
#include <algorithm>

#include "sim/program/lower_walk.h"

namespace spillway {

void LowerWalk::RunGroup(OpId first, OpId end) {
  now_ = first;
  Bytes wanted = 0;
  for (OpId op = first; op < end; ++op) {
    BringOperands(op);
    PlaceResults(op, false);
    wanted = std::max(wanted, choice_.WorkspaceOf(op));
  }
  const bool shared = held_.empty() && wanted > 0;
  const BufferId workspace =
      shared ? NewOnDevice(RoundToUnit(wanted), kNoTensor, BufferKind::kWorkspace, kComputeStream) : kNoBuffer;
  RunGroupParts(first, end, workspace);
  if (shared) FreeBuffer(workspace, kComputeStream);
  LeaveOps(first, end);
}

// Copies in run ahead and tiles are freed behind as of an op by itself (LaunchStreamed).
void LowerWalk::RunGroupParts(OpId first, OpId end, BufferId workspace) {
  std::vector<FusedOperand> operands = FusedOperands(first, end);
  const std::size_t parts = choice_.Of(first).size();
  const TileDepth depth(choice_.DepthOf(first));
  std::size_t brought = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    now_ = first;
    for (; brought < std::min(parts, k + depth.ahead + 1); ++brought) BringFused(operands, brought);
    for (OpId op = first; op < end; ++op) {
      now_ = op;
      RunFusedPart(op, k, operands, held_.empty() ? workspace : held_[Index(op)]);
      LeaveFusedPart(op, k, operands);
    }
    if (k >= depth.behind) FreeSentFused(operands, k - depth.behind);
  }
  for (std::size_t k = parts - std::min(parts, depth.behind); k < parts; ++k) FreeSentFused(operands, k);
  // What was written and stays here leaves the host with what it was before, if with anything.
  for (const FusedOperand& operand : operands) {
    if (operand.last_write != kNoOp) at_[Index(operand.tensor)].host_valid = operand.sent;
  }
}

std::vector<LowerWalk::FusedOperand> LowerWalk::FusedOperands(OpId first, OpId end) const {
  std::vector<FusedOperand> operands;
  for (OpId op = first; op < end; ++op) {
    const std::span<const Touch> touches = tables_.Touches(op);
    for (std::size_t k = 0; k < touches.size(); ++k) {
      const TensorId t = touches[k].tensor;
      if (!Streams(op, t)) continue;
      auto found = std::find_if(operands.begin(), operands.end(), [t](const FusedOperand& o) { return o.tensor == t; });
      if (found == operands.end()) {
        operands.push_back({.tensor = t, .first = op, .touch = k, .brought = touches[k].access != Access::kWrite});
        operands.back().tiles.assign(choice_.Of(op).size(), kNoBuffer);
        found = operands.end() - 1;
      }
      found->last = op;
      if (touches[k].access != Access::kRead) found->last_write = op;
      found->sent = found->last_write != kNoOp && !touches[k].last;
    }
  }
  return operands;
}

BoxId LowerWalk::BoxOf(const FusedOperand& operand, std::size_t part) const {
  return choice_.Of(operand.first)[part].BoxOf(operand.touch);
}

void LowerWalk::BringFused(std::vector<FusedOperand>& operands, std::size_t part) {
  for (FusedOperand& operand : operands) {
    if (!operand.brought) continue;
    operand.tiles[part] = NewTile(operand.tensor, BoxOf(operand, part), in_stream_);
    spillway::Copy copy = TileCopy(operand.tensor, BoxOf(operand, part));
    copy.from = HostOf(operand.tensor);
    copy.to = operand.tiles[part];
    out_.Copy(copy, in_stream_);
  }
}

void LowerWalk::RunFusedPart(OpId op, std::size_t part, std::vector<FusedOperand>& operands, BufferId workspace) {
  const std::span<const PartLaunch> parts = choice_.Of(op);
  const std::span<const Touch> touches = tables_.Touches(op);
  FindPlaces(op);
  for (FusedOperand& operand : operands) {
    const auto touch = std::find_if(touches.begin(), touches.end(),
                                    [&operand](const Touch& one) { return one.tensor == operand.tensor; });
    if (touch == touches.end()) continue;
    BufferId& tile = operand.tiles[part];
    if (tile == kNoBuffer) tile = NewTile(operand.tensor, BoxOf(operand, part), kComputeStream);
    places_[static_cast<std::size_t>(touch - touches.begin())] = tile;
  }
  LaunchPart({.op = op, .launch = parts[part].launch, .first_part = part == 0, .last_part = part + 1 == parts.size()},
             parts[part], choice_.WorkspaceOf(op) > 0 ? workspace : kNoBuffer);
  if (plan_.runtime.part_waits == PartWaits::kHost) out_.HostSync(kComputeStream);
}

// What is complete goes out, what is done with and stays here is freed.
void LowerWalk::LeaveFusedPart(OpId op, std::size_t part, const std::vector<FusedOperand>& operands) {
  for (const FusedOperand& operand : operands) {
    if (operand.sent && operand.last_write == op) {
      spillway::Copy copy = TileCopy(operand.tensor, BoxOf(operand, part));
      copy.from = operand.tiles[part];
      copy.to = HostOf(operand.tensor);
      copy.direction = Direction::kDeviceToHost;
      out_.Copy(copy, out_stream_);
    } else if (!operand.sent && operand.last == op) {
      FreeBuffer(operand.tiles[part], kComputeStream);
    }
  }
}

void LowerWalk::FreeSentFused(const std::vector<FusedOperand>& operands, std::size_t part) {
  for (const FusedOperand& operand : operands) {
    if (operand.sent) FreeBuffer(operand.tiles[part], out_stream_);
  }
}

}  // namespace spillway
