#include "sim/program/lower/plan_walk.h"

namespace spillway {

namespace {

std::vector<Stream> StreamsFor(const Plan& plan, int on) {
  const auto device = static_cast<std::int16_t>(on);
  if (plan.runtime.copy_streams == 1) return {{device, StreamKind::kCompute}, {device, StreamKind::kCopy}};
  return {{device, StreamKind::kCompute}, {device, StreamKind::kDeviceToHost}, {device, StreamKind::kHostToDevice}};
}

// A copy out that starts where its gap begins is part of that: `never`.
OpId CopyOutApart(const GapDecision& gap, OpId never) {
  return gap.action == GapAction::kSwap && gap.out_after != gap.after ? gap.out_after : never;
}

ProgramMemory MemoryOf(const Runtime& runtime) {
  if (runtime.memory == MemoryModel::kCounted) return ProgramMemory::kCounted;
  return runtime.memory == MemoryModel::kPool ? ProgramMemory::kPool : ProgramMemory::kArena;
}

}  // namespace

WalkInput::WalkInput(const Plan& p, const StepTables& t, Program& program, Bytes r)
    : plan(p),
      tables(t),
      room(r),
      step(*t.step),
      launches(p, t, program),
      counted(p.runtime.memory == MemoryModel::kCounted),
      capacity(r == kEndlessBytes ? 0 : r),
      unit(t.unit[static_cast<std::size_t>(p.runtime.backward_units)]),
      in_stream(p.runtime.copy_streams == 1 ? 1 : 2) {
  const std::size_t end = step.ops.size();
  const auto copy_out = [this](const GapDecision& gap) { return CopyOutApart(gap, ops()); };
  gaps_after = DecisionsAt(p.gaps, &GapDecision::after, end);
  copies_out_after = DecisionsAt(p.gaps, copy_out, end);
  entries_before = DecisionsAt(p.recompute, &Recomputation::before, end);
  program.memory = MemoryOf(p.runtime);
  program.streams = StreamsFor(p, t.device);
  FindStays();
}

void WalkInput::FindStays() {
  for (std::uint32_t g = 0; g < plan.gaps.size(); ++g) {
    const GapDecision& gap = plan.gaps[g];
    if (gap.leaves_after == kNoOp || StaysForGroup(gap.leaves_after, gap.before)) continue;
    stays_until[gap.leaves_after].push_back({gap.tensor, g});
  }
  for (const Recomputation& entry : plan.recompute) {
    if (entry.leaves_after == kNoOp) continue;
    for (const TensorId t : step.ops[Index(entry.run)].writes) {
      if (StaysForGroup(entry.leaves_after, tables.uses.Next(t, entry.leaves_after))) continue;
      stays_until[entry.leaves_after].push_back({t});
    }
  }
}

// Fused ops find a tensor that one of them uses next on the device throughout: it does not leave between them.
bool WalkInput::StaysForGroup(OpId leaves_after, OpId next) const {
  return next >= 0 && next < launches.EndOfGroup(leaves_after);
}

OpId WalkInput::EndOfUnit(OpId op) const {
  while (!EndsUnit(op)) ++op;
  return op + 1;
}

PlanWalk::PlanWalk(const Plan& plan, const StepTables& tables, Bytes room)
    : out{.program = {},
          .items = ItemWriter(out.program, *tables.step),
          .live_at = std::vector<Bytes>(tables.step->ops.size(), 0),
          .needed_at = std::vector<OpId>(plan.gaps.size(), kNoOp)},
      in(plan, tables, out.program, room),
      state{.tensors = std::vector<TensorState>(tables.step->tensors.size())} {
  out.items.Reserve(in.step.ops.size() * 6);
  for (const TensorId t : tables.inputs) state[t].host_valid = true;
  for (std::uint32_t g = 0; g < plan.gaps.size(); ++g) {
    const GapDecision& gap = plan.gaps[g];
    if (!gap.EndsInNextStep()) continue;
    state[gap.tensor].host_valid = true;  // the gap of the step before, which is the same
    state[gap.tensor].gap = g;
  }
}

}  // namespace spillway
