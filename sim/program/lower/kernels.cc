#include "sim/program/lower/kernels.h"

#include <algorithm>

#include "sim/program/lower/buffers.h"
#include "sim/program/lower/grants.h"
#include "sim/program/lower/tensors.h"

namespace spillway {

void HoldWorkspaces(PlanWalk& w) {
  for (OpId op = 0; op < w.in.ops(); ++op) {
    const Bytes recomputed = w.in.step.IsForward(op) ? w.in.launches.MostWorkspaceOfRecomputations(op) : 0;
    const Bytes most = std::max(w.in.launches.FirstRun(op).workspace, recomputed);
    w.state.workspaces.push_back(most > 0 ? AllocateBuffer(w, most, kNoTensor, kComputeStream) : kNoBuffer);
  }
}

void FreeHeldWorkspaces(PlanWalk& w) {
  for (const BufferId workspace : w.state.workspaces) ReturnWorkspace(w, workspace);
}

void RecomputeOp(PlanWalk& w, OpId op) {
  const bool counts = w.in.launches.CountsRecomputations(op);
  const OpLaunch usual = w.in.launches.Recomputation(op, counts ? w.state.again[op]++ : 0);
  AllocateResults(w, usual);
  const CutLaunch cut = CutToFree(w, usual, 0);
  OpLaunch launch = usual;
  launch.parts = cut.parts.empty() ? usual.parts : cut.parts;
  launch.workspace = cut.workspace;
  const BufferId workspace = TakeWorkspace(w, launch.workspace);
  RunInPlace(w, launch, workspace);
  ReturnWorkspace(w, workspace);
}

void AllocateResults(PlanWalk& w, const OpLaunch& launch) {
  for (const StepTables::Touch& touch : w.in.tables.Touches(launch.op)) {
    w.state[touch.tensor].arriving = false;
    if (touch.access == Access::kRead) continue;
    if (!launch.recomputation && w.in.Streams(launch.op, touch.tensor)) continue;
    AllocateTensor(w, touch.tensor);
    if (!launch.recomputation) Invalidate(w, touch.tensor);
  }
}

BufferId TakeWorkspace(PlanWalk& w, Bytes bytes) {
  const bool wanted = bytes > 0 && w.state.workspaces.empty();
  return wanted ? AllocateBuffer(w, bytes, kNoTensor, kComputeStream) : kNoBuffer;
}

void ReturnWorkspace(PlanWalk& w, BufferId workspace) {
  if (workspace != kNoBuffer) FreeBuffer(w, workspace, kComputeStream);
}

void RunInPlace(PlanWalk& w, const OpLaunch& launch, BufferId workspace) {
  for (std::size_t part = 0; part < launch.parts.size(); ++part) RunPart(w, launch, part, workspace);
}

namespace {

// Each section that the part touches is an operand.
void AddSections(WalkOutput& out, const SectionedTensor& tensor, Access access, BoxId box) {
  for (const SectionState& section : tensor.sections) {
    if (box == kWhole) {
      out.items.Operand(section.device, access);
      continue;
    }
    const Box both = Intersection(out.program.boxes[box], out.program.boxes[section.box]);
    if (both.Elements() > 0) out.items.Operand(section.device, access, out.items.NewBox(both));
  }
}

}  // namespace

// A part that adds to a result of an earlier part reads it, too.
void RunPart(PlanWalk& w, const OpLaunch& launch, std::size_t part, BufferId workspace,
             std::span<const BufferId> tiles) {
  if (w.out.items.InTrial()) return;  // a kernel changes nothing that the walk looks at
  const PartLaunch& how = launch.parts[part];
  const std::span<const StepTables::Touch> touches = w.in.tables.Touches(launch.op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    const auto& [tensor, usual_access, last] = touches[k];
    const Access access = how.adds && usual_access == Access::kWrite ? Access::kReadWrite : usual_access;
    if (const SectionedTensor* const sections = w.state.SectionsOf(tensor)) {
      AddSections(w.out, *sections, access, how.BoxOf(k));
      continue;
    }
    const bool in_place = tiles.empty() || tiles[k] == kNoBuffer;
    w.out.items.Operand(in_place ? w.state[tensor].device : tiles[k], access, how.BoxOf(k));
  }
  if (launch.workspace > 0) {
    const bool shared = w.state.workspaces.empty();
    w.out.items.Operand(shared ? workspace : w.state.workspaces[Index(launch.op)], Access::kWrite);
  }
  w.out.items.Kernel({.op = launch.op,
                      .launch = how.launch,
                      .recomputation = launch.recomputation,
                      .first_part = part == 0,
                      .last_part = part + 1 == launch.parts.size()},
                     kComputeStream);
  if (launch.divided && w.in.plan.runtime.part_waits == PartWaits::kHost) w.out.items.HostSync(kComputeStream);
}

}  // namespace spillway
