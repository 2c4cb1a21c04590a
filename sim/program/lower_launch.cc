// The kernels of one op on operands that lie in place.
#include "sim/program/lower_walk.h"

namespace spillway {

// Allocates results and workspace, writes the kernel or those of the op's parts, gives the workspace back.
void LowerWalk::Launch(OpId op, bool recomputation) {
  PlaceResults(op, recomputation);
  const Bytes wanted = recomputation ? choice_.WorkspaceAgain(op) : choice_.WorkspaceOf(op);
  const BufferId workspace = held_.empty() ? NewWorkspace(wanted) : wanted > 0 ? held_[Index(op)] : kNoBuffer;
  if (!recomputation && choice_.Streams(op)) {
    LaunchStreamed(op, workspace);
  } else {
    LaunchInPlace(op, recomputation, workspace);
  }
  if (held_.empty() && workspace != kNoBuffer) FreeBuffer(workspace, kComputeStream);
}

void LowerWalk::LaunchInPlace(OpId op, bool recomputation, BufferId workspace) {
  FindPlaces(op);
  const std::span<const PartLaunch> parts = recomputation ? choice_.Again(op) : choice_.Of(op);
  const bool divided = recomputation ? choice_.IsDividedAgain(op) : choice_.IsDivided(op);
  for (const PartLaunch& part : parts) {
    LaunchPart({.op = op,
                .launch = part.launch,
                .recomputation = recomputation,
                .first_part = &part == &parts.front(),
                .last_part = &part == &parts.back()},
               part, workspace);
    if (plan_.runtime.part_waits == PartWaits::kHost && divided) out_.HostSync(kComputeStream);
  }
}

void LowerWalk::FindPlaces(OpId op) {
  places_.clear();
  for (const Touch& touch : tables_.Touches(op)) places_.push_back(at_[Index(touch.tensor)].device);
}

void LowerWalk::PlaceResults(OpId op, bool recomputation) {
  for (const Touch& touch : tables_.Touches(op)) {
    Residence& at = at_[Index(touch.tensor)];
    at.arriving = false;
    if (touch.access == Access::kRead) continue;
    if (!recomputation && Streams(op, touch.tensor)) continue;
    Sections* const sections = SectionsOf(touch.tensor);
    if (at.device == kNoBuffer && sections != nullptr) {
      PlaceSections(touch.tensor, *sections);
    } else if (at.device == kNoBuffer) {
      at.device = NewOnDevice(tables_.bytes[Index(touch.tensor)], touch.tensor, BufferKind::kTensor, kComputeStream);
    }
    if (recomputation) continue;
    at.host_valid = false;
    if (sections == nullptr) continue;
    for (Section& section : sections->list) section.host_valid = false;
  }
}

void LowerWalk::LaunchPart(spillway::Kernel kernel, const PartLaunch& part, BufferId workspace) {
  const std::span<const Touch> touches = tables_.Touches(kernel.op);
  for (std::size_t k = 0; k < touches.size(); ++k) {
    const bool adds = part.adds && touches[k].access == Access::kWrite;
    const Access access = adds ? Access::kReadWrite : touches[k].access;
    if (const Sections* const sections = SectionsOf(touches[k].tensor)) {
      AddSectionOperands(*sections, access, part.BoxOf(k));
    } else {
      out_.Operand(places_[k], access, part.BoxOf(k));
    }
  }
  if (workspace != kNoBuffer) out_.Operand(workspace, Access::kWrite);
  out_.Kernel(kernel, kComputeStream);
}

}  // namespace spillway
