// Tensors that lie in sections: a buffer for each batch range between two of the plan's cuts, from when it comes until it
// goes. While any of them is there the others have their places beside it (Buffer::frame).
//
//   gap of X         |--- use ---|                              |--- use ---|
//   section 0        ===================================================      stays: one buffer
//   section 1        ===========----- out                 in ---=======      two buffers, at one address
#include <algorithm>

#include "model/cost/op_parts.h"
#include "sim/program/lower_walk.h"

namespace spillway {

static_assert(kSectionUnit == kAllocationUnit);

void LowerWalk::FindSections() {
  for (const auto& [tensor, cuts] : CutsOf(plan_, step_)) {
    Sections& sections = sections_[tensor];
    for (std::size_t k = 1; k < cuts.size(); ++k) {
      Section section{.samples = {cuts[k - 1], cuts[k]},
                      .box = static_cast<BoxId>(lowered_.program.boxes.size()),
                      .host_valid = at_[Index(tensor)].host_valid};
      lowered_.program.boxes.push_back(SamplesOf(step_.tensors[Index(tensor)], cuts[k - 1], cuts[k]));
      sections.list.push_back(section);
    }
  }
}

LowerWalk::Sections* LowerWalk::SectionsOf(TensorId tensor) {
  if (sections_.empty()) return nullptr;
  const auto found = sections_.find(tensor);
  return found == sections_.end() ? nullptr : &found->second;
}

void LowerWalk::NewSection(TensorId tensor, Sections& sections, Section& section, StreamId stream) {
  const bool first = std::all_of(sections.list.begin(), sections.list.end(),
                                 [](const Section& other) { return other.device == kNoBuffer; });
  if (first) sections.frame = frames_++;
  const Tensor& whole = step_.tensors[Index(tensor)];
  const Bytes sample = whole.bytes / whole.shape.n;
  section.device = NewOnDevice(RoundToUnit((section.samples.end - section.samples.begin) * sample), tensor,
                               BufferKind::kTensor, stream);
  Buffer& buffer = lowered_.program.buffers[section.device];
  buffer.box = section.box;
  buffer.frame = sections.frame;
  buffer.distance = section.samples.begin * sample;
}

// The tensor is there when all of it is.
void LowerWalk::NoteSections(TensorId tensor, const Sections& sections) {
  const bool all = std::all_of(sections.list.begin(), sections.list.end(),
                               [](const Section& section) { return section.device != kNoBuffer; });
  at_[Index(tensor)].device = all ? sections.list.front().device : kNoBuffer;
}

void LowerWalk::PlaceSections(TensorId tensor, Sections& sections) {
  for (Section& section : sections.list) {
    if (section.device == kNoBuffer) NewSection(tensor, sections, section, kComputeStream);
  }
  NoteSections(tensor, sections);
}

// Those of which `wanted` says so, of what is missing. Returns whether there were any.
template <typename Wanted>
bool LowerWalk::BringSections(TensorId tensor, Sections& sections, Wanted wanted) {
  bool any = false;
  for (Section& section : sections.list) {
    if (section.device != kNoBuffer || !wanted(section)) continue;
    any = true;
    const BufferId host = HostOf(tensor);
    NewSection(tensor, sections, section, in_stream_);
    CopySection(tensor, section, {.from = host, .to = section.device, .direction = Direction::kHostToDevice});
    at_[Index(tensor)].keeps_result = true;
    at_[Index(tensor)].arriving = true;
  }
  NoteSections(tensor, sections);
  return any;
}

void LowerWalk::SwapInSections(TensorId tensor, Sections& sections, OpId op) {
  BringSections(tensor, sections, [&](const Section& section) {
    if (section.gap != kNoGap && needed_at_[section.gap] == kNoOp) needed_at_[section.gap] = op;
    return true;
  });
}

void LowerWalk::IssueSections(std::uint32_t gap, Sections& sections, OpId op) {
  const TensorId tensor = plan_.gaps[gap].tensor;
  if (BringSections(tensor, sections, [gap](const Section& section) { return section.gap == gap; })) {
    needed_at_[gap] = op;
  }
}

void LowerWalk::CopyOutSections(const GapDecision& gap, Sections& sections) {
  for (Section& section : sections.list) {
    if (section.device == kNoBuffer || section.host_valid || !gap.samples.Meets(section.samples)) continue;
    section.host_valid = true;
    const BufferId host = HostOf(gap.tensor);
    CopySection(gap.tensor, section, {.from = section.device, .to = host, .direction = Direction::kDeviceToHost});
  }
}

void LowerWalk::NoteGap(std::uint32_t gap, Sections& sections) {
  for (Section& section : sections.list) {
    if (plan_.gaps[gap].samples.Meets(section.samples)) section.gap = gap;
  }
}

// The input has its copy on the host and is freed when its last use is done.
void LowerWalk::LeaveSections(std::uint32_t g, Sections& sections) {
  const GapDecision& gap = plan_.gaps[g];
  const bool on_host = step_.tensors[Index(gap.tensor)].Traits().on_host;
  if (gap.after != kNoOp && !on_host) CopyOutSections(gap, sections);
  for (Section& section : sections.list) {
    if (!gap.samples.Meets(section.samples)) continue;
    if (section.device != kNoBuffer) FreeBuffer(section.device, on_host ? kComputeStream : out_stream_);
    section.device = kNoBuffer;
  }
  at_[Index(gap.tensor)].host_valid = true;  // what is missing comes back by copies
  NoteSections(gap.tensor, sections);
}

void LowerWalk::FreeSections(TensorId tensor, Sections& sections) {
  for (Section& section : sections.list) {
    if (section.device != kNoBuffer) FreeBuffer(section.device, kComputeStream);
    section.device = kNoBuffer;
  }
  // Should a recomputation want it once more, sections that never left are nowhere.
  at_[Index(tensor)].host_valid = std::all_of(sections.list.begin(), sections.list.end(),
                                              [](const Section& section) { return section.host_valid; });
  NoteSections(tensor, sections);
}

// In pieces of whole samples where the runtime cuts copies.
void LowerWalk::CopySection(TensorId tensor, const Section& section, spillway::Copy copy) {
  const Tensor& whole = step_.tensors[Index(tensor)];
  const Bytes sample = whole.bytes / whole.shape.n;
  const auto [begin, end] = section.samples;
  const Bytes chunk = plan_.runtime.copy_chunk;
  const std::int64_t piece = chunk > 0 ? std::min(end - begin, (chunk + sample - 1) / sample) : end - begin;
  copy.link = tables_.link;
  for (std::int64_t from = begin; from < end; from += piece) {
    const std::int64_t to = std::min(end, from + piece);
    copy.bytes = (to - from) * sample;
    copy.box = piece == end - begin ? section.box : out_.NewBox(SamplesOf(whole, from, to));
    out_.Copy(copy, copy.direction == Direction::kHostToDevice ? in_stream_ : out_stream_);
  }
}

// What a kernel touches of the tensor, an operand for each section.
void LowerWalk::AddSectionOperands(const Sections& sections, Access access, BoxId box) {
  for (const Section& section : sections.list) {
    const Box& held = lowered_.program.boxes[section.box];
    if (box == kWhole) {
      out_.Operand(section.device, access);
      continue;
    }
    const Box both = Intersection(lowered_.program.boxes[box], held);
    if (both.Elements() > 0) out_.Operand(section.device, access, out_.NewBox(both));
  }
}

// The last buffer that copies bring it in.
BufferId LowerWalk::LastArrived(TensorId tensor) {
  BufferId last = at_[Index(tensor)].device;
  if (const Sections* const sections = SectionsOf(tensor)) {
    for (const Section& section : sections->list) last = std::max(last, section.device);
  }
  return last;
}

}  // namespace spillway
