#include "sim/program/lower/tensors.h"

#include <algorithm>

#include "sim/program/lower/buffers.h"

namespace spillway {

void AllocateMissing(PlanWalk& w, TensorId tensor) {
  if (SectionedTensor* const sections = w.state.SectionsOf(tensor)) return AllocateSections(w, *sections);
  w.state[tensor].device = AllocateBuffer(w, w.in.tables.bytes[Index(tensor)], tensor, kComputeStream);
}

void SwapIn(PlanWalk& w, TensorId tensor) {
  if (SectionedTensor* const sections = w.state.SectionsOf(tensor)) return SwapInSections(w, *sections);
  HostBufferOf(w, tensor);  // numbered before the device's
  TensorState& at = w.state[tensor];
  at.device = AllocateBuffer(w, w.in.tables.bytes[Index(tensor)], tensor, w.in.in_stream);
  at.keep_result = true;
  at.arriving = true;
  CopyTensor(w, tensor, at.device, Direction::kHostToDevice);
}

bool SwapInGap(PlanWalk& w, std::uint32_t gap) {
  const TensorId tensor = w.in.Gap(gap).tensor;
  if (SectionedTensor* const sections = w.state.SectionsOf(tensor)) return SwapInSectionsOf(w, *sections, gap);
  if (w.state[tensor].OnDevice() || w.state[tensor].gap != gap) return false;
  SwapIn(w, tensor);
  return true;
}

void CopyOut(PlanWalk& w, const GapDecision& gap) {
  if (SectionedTensor* const sections = w.state.SectionsOf(gap.tensor)) return CopyOutSections(w, *sections, gap);
  TensorState& at = w.state[gap.tensor];
  if (!at.OnDevice() || at.host_valid) return;
  at.host_valid = true;
  CopyTensor(w, gap.tensor, at.device, Direction::kDeviceToHost);
  at.copy_out = w.state.copies_out;
}

// A copy that began before the tensor leaves is over by then, as the plan has it: the stream of kernels waits for it
// and frees. The stream that copies out would come to the free behind all copies that were issued in the meantime.
void Evict(PlanWalk& w, const GapDecision& gap) {
  if (SectionedTensor* const sections = w.state.SectionsOf(gap.tensor)) return EvictSections(w, *sections, gap);
  TensorState& at = w.state[gap.tensor];
  const bool unchanged = gap.EndsInNextStep() && at.host_valid && at.copy_out == 0;  // no op has written it
  if (unchanged || gap.action == GapAction::kRecompute || w.in.TensorOf(gap.tensor).Traits().on_host) {
    return FreeTensor(w, gap.tensor);
  }
  const bool began_before = gap.leaves_after != kNoOp && gap.out_after < gap.leaves_after;
  CopyOut(w, gap);
  if (began_before) {
    FreeBuffer(w, at.device, kComputeStream);
  } else {
    FreeBehindCopy(w, at.device, w.in.out_stream, at.copy_out);
  }
  at.device = kNoBuffer;
}

void FreeTensor(PlanWalk& w, TensorId tensor) {
  if (SectionedTensor* const sections = w.state.SectionsOf(tensor)) return FreeSections(w, *sections);
  TensorState& at = w.state[tensor];
  FreeBuffer(w, at.device, kComputeStream);
  at.device = kNoBuffer;
}

void Invalidate(PlanWalk& w, TensorId tensor) {
  w.state[tensor].host_valid = false;
  SectionedTensor* const sections = w.state.SectionsOf(tensor);
  if (sections == nullptr) return;
  for (SectionState& section : sections->sections) section.host_valid = false;
}

// Copies in arrive in the order of their buffers: the last one brings the others.
void AwaitSwapIns(PlanWalk& w, OpId first, OpId end) {
  BufferId last = kNoBuffer;
  const auto add = [&last](BufferId buffer) { last = last == kNoBuffer ? buffer : std::max(last, buffer); };
  for (OpId op = first; op < end; ++op) {
    for (const StepTables::Touch& touch : w.in.tables.Touches(op)) {
      TensorState& at = w.state[touch.tensor];
      if (touch.access == Access::kWrite || !at.arriving || !at.OnDevice()) continue;
      at.arriving = false;
      add(at.device);
      if (const SectionedTensor* const sections = w.state.SectionsOf(touch.tensor)) {
        for (const SectionState& section : sections->sections) add(section.device);
      }
    }
  }
  if (last != kNoBuffer) w.out.items.HostSyncFor(last);
}

}  // namespace spillway
