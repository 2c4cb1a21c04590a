#include <algorithm>

#include "model/cost/op_tiles.h"
#include "sim/plan/parts.h"
#include "sim/program/lower/buffers.h"
#include "sim/program/lower/tensors.h"

namespace spillway {

static_assert(kSectionUnit == kAllocationUnit);

void FindSections(PlanWalk& w) {
  for (const auto& [tensor, cuts] : CutsOf(w.in.plan, w.in.step)) {
    SectionedTensor& sectioned = w.state.sectioned[tensor];
    sectioned.tensor = tensor;
    for (std::size_t k = 1; k < cuts.size(); ++k) {
      sectioned.sections.push_back({.samples = {cuts[k - 1], cuts[k]},
                                    .box = static_cast<BoxId>(w.out.program.boxes.size()),
                                    .host_valid = w.state[tensor].host_valid});
      w.out.program.boxes.push_back(SamplesOf(w.in.TensorOf(tensor), cuts[k - 1], cuts[k]));
    }
  }
}

namespace {

void AllocateSection(PlanWalk& w, SectionedTensor& tensor, SectionState& section, StreamId stream) {
  const bool first = std::none_of(tensor.sections.begin(), tensor.sections.end(),
                                  [](const SectionState& other) { return other.OnDevice(); });
  if (first) tensor.frame = w.state.frames++;
  const Tensor& whole = w.in.TensorOf(tensor.tensor);
  const Bytes sample = whole.bytes / whole.shape.n;
  section.device = AllocateBuffer(w, (section.samples.end - section.samples.begin) * sample, tensor.tensor, stream);
  Buffer& buffer = w.out.program.buffers[section.device];
  buffer.box = section.box;
  buffer.frame = tensor.frame;
  buffer.distance = section.samples.begin * sample;
}

void FreeSection(PlanWalk& w, SectionState& section, StreamId stream) {
  if (section.OnDevice()) FreeBuffer(w, section.device, stream);
  section.device = kNoBuffer;
}

void NoteWhole(PlanWalk& w, const SectionedTensor& tensor) {
  const bool all = std::all_of(tensor.sections.begin(), tensor.sections.end(),
                               [](const SectionState& section) { return section.OnDevice(); });
  w.state[tensor.tensor].device = all ? tensor.sections.front().device : kNoBuffer;
}

// Swaps in missing sections for which wanted(section) is true. Returns whether there were any.
template <typename Wanted>
bool SwapInWanted(PlanWalk& w, SectionedTensor& tensor, Wanted wanted) {
  bool any = false;
  for (SectionState& section : tensor.sections) {
    if (section.OnDevice() || !wanted(section)) continue;
    any = true;
    HostBufferOf(w, tensor.tensor);  // numbered before the device's
    AllocateSection(w, tensor, section, w.in.in_stream);
    CopySection(w, tensor.tensor, section, Direction::kHostToDevice);
    w.state[tensor.tensor].keep_result = true;
    w.state[tensor.tensor].arriving = true;
  }
  NoteWhole(w, tensor);
  return any;
}

}  // namespace

void AllocateSections(PlanWalk& w, SectionedTensor& tensor) {
  for (SectionState& section : tensor.sections) {
    if (!section.OnDevice()) AllocateSection(w, tensor, section, kComputeStream);
  }
  NoteWhole(w, tensor);
}

void SwapInSections(PlanWalk& w, SectionedTensor& tensor) {
  SwapInWanted(w, tensor, [&w](const SectionState& section) {
    if (section.gap != kNoGap && w.out.needed_at[section.gap] == kNoOp) w.out.needed_at[section.gap] = w.state.now;
    return true;
  });
}

bool SwapInSectionsOf(PlanWalk& w, SectionedTensor& tensor, std::uint32_t gap) {
  return SwapInWanted(w, tensor, [gap](const SectionState& section) { return section.gap == gap; });
}

void OpenGapOfSections(PlanWalk& w, SectionedTensor& tensor, std::uint32_t gap) {
  for (SectionState& section : tensor.sections) {
    if (w.in.Gap(gap).samples.Meets(section.samples)) section.gap = gap;
  }
}

void CopyOutSections(PlanWalk& w, SectionedTensor& tensor, const GapDecision& gap) {
  for (SectionState& section : tensor.sections) {
    if (!section.OnDevice() || section.host_valid || !gap.samples.Meets(section.samples)) continue;
    section.host_valid = true;
    CopySection(w, tensor.tensor, section, Direction::kDeviceToHost);
  }
}

// The input has its copy on the host and is freed when its last use is done.
void EvictSections(PlanWalk& w, SectionedTensor& tensor, const GapDecision& gap) {
  const bool on_host = w.in.TensorOf(tensor.tensor).Traits().on_host;
  if (gap.after != kNoOp && !on_host) CopyOutSections(w, tensor, gap);
  for (SectionState& section : tensor.sections) {
    if (gap.samples.Meets(section.samples)) FreeSection(w, section, on_host ? kComputeStream : w.in.out_stream);
  }
  w.state[tensor.tensor].host_valid = true;  // the missing sections come back by copies
  NoteWhole(w, tensor);
}

void FreeSections(PlanWalk& w, SectionedTensor& tensor) {
  for (SectionState& section : tensor.sections) FreeSection(w, section, kComputeStream);
  // Should a recomputation want the tensor once more, sections that never left are nowhere.
  w.state[tensor.tensor].host_valid = std::all_of(tensor.sections.begin(), tensor.sections.end(),
                                                  [](const SectionState& section) { return section.host_valid; });
  NoteWhole(w, tensor);
}

}  // namespace spillway
