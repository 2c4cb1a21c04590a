#include "sim/program/lower/item_writer.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace spillway {

namespace {

// Whether some place is in both.
bool Meet(const Box& a, const Box& b) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (std::max(a.begin[axis], b.begin[axis]) >= std::min(a.end[axis], b.end[axis])) return false;
  }
  return true;
}

}  // namespace

void ItemWriter::Reserve(std::size_t items) {
  program_.buffers.reserve(items / 2);
  skeleton_.items.reserve(items);
  skeleton_.dependencies.reserve(items / 2);
  program_.operands.reserve(items);
  program_.kernels.reserve(items / 4);
  touched_.reserve(items / 2);
}

void ItemWriter::StartTrial() {
  trial_ = true;
  buffers_before_trial_ = program_.buffers.size();
}

void ItemWriter::EndTrial() {
  trial_ = false;
  program_.buffers.resize(buffers_before_trial_);
}

BufferId ItemWriter::NewHostBuffer(Bytes bytes, TensorId tensor, int host) {
  return NewBuffer(bytes, tensor, BufferKind::kHost, host);
}

void ItemWriter::Kernel(spillway::Kernel kernel, StreamId stream) {
  if (trial_) return;
  const auto end = static_cast<std::uint32_t>(program_.operands.size());
  for (std::uint32_t k = first_operand_; k < end; ++k) {
    Touch(program_.operands[k].buffer, program_.operands[k].access, stream);
  }
  kernel.operands = first_operand_;
  kernel.operand_count = end - first_operand_;
  program_.kernels.push_back(kernel);
  first_operand_ = end;
  Write(Opcode::kKernel, stream, static_cast<std::uint32_t>(program_.kernels.size() - 1));
}

void ItemWriter::Copy(const spillway::Copy& copy, StreamId stream) {
  if (trial_) return;
  TouchSide(copy, copy.from, Access::kRead, stream);
  TouchSide(copy, copy.to, Access::kWrite, stream);
  program_.copies.push_back(copy);
  sync_cause_[stream] = copy.direction == Direction::kHostToDevice ? Cause::kSwapIn : Cause::kSwapOut;
  Write(Opcode::kCopy, stream, static_cast<std::uint32_t>(program_.copies.size() - 1));
}

// A copy between a tile and a buffer of the whole tensor touches the tile's places there; what the tile has beyond is
// padding.
void ItemWriter::TouchSide(const spillway::Copy& copy, BufferId side, Access access, StreamId stream) {
  const BufferId other = side == copy.from ? copy.to : copy.from;
  const bool tile = program_.buffers[other].box != kWhole && program_.buffers[side].box == kWhole;
  if (!tile) return Touch(side, access, stream);
  TouchBox(side, Intersection(AllOf(side), program_.boxes[program_.buffers[other].box]), access, stream);
}

Box ItemWriter::AllOf(BufferId buffer) const {
  return WholeOf(step_.tensors[Index(program_.buffers[buffer].tensor)].shape);
}

// Sections that the box cuts are divided; what is written at once is one section again. From the last one on, as what
// is cut off lies behind what it is cut from: tiles are cut from the last section, and what is behind one that is cut
// moves.
void ItemWriter::TouchBox(BufferId buffer, const Box& box, Access access, StreamId stream) {
  std::vector<Section>& sections = sections_[buffer];
  if (sections.empty()) sections.push_back({AllOf(buffer), touched_[buffer]});
  std::int64_t left = box.Elements();  // in sections before
  bool written = false;
  for (std::size_t k = sections.size(); left > 0 && k-- > 0;) {
    if (!Meet(sections[k].box, box)) continue;
    const Section before = sections[k];
    const Box both = Intersection(before.box, box);
    left -= both.Elements();
    Note(sections[k].touched, access, stream);
    const bool goes = access != Access::kRead && std::exchange(written, true);
    sections[k].box = access == Access::kRead ? both : box;
    if (both == before.box && !goes) continue;
    auto place = sections.begin() + static_cast<std::ptrdiff_t>(k);
    place = goes ? sections.erase(place) : place + 1;
    for (const Box& rest : Without(before.box, box)) place = sections.insert(place, {rest, before.touched});
  }
}

void ItemWriter::HostSync(StreamId stream) {
  if (trial_ || last_[stream] == kNone) return;
  skeleton_.items.push_back({Opcode::kHostSync, stream, sync_cause_[stream], 0, last_[stream]});
}

void ItemWriter::HostSyncFor(BufferId buffer) {
  if (trial_) return;
  const std::uint32_t copy = touched_[buffer].write;
  assert(copy != kNone && skeleton_.items[copy].opcode == Opcode::kCopy);
  skeleton_.items.push_back({Opcode::kHostSync, skeleton_.items[copy].stream, Cause::kSwapIn, 0, copy});
}

// In a pool, where the compute stream gives bytes back at once.
void ItemWriter::FollowFrees(StreamId stream) {
  if (last_compute_free_ == kNone || skeleton_.items[last_compute_free_].stream == stream) return;
  skeleton_.dependencies.push_back({last_compute_free_, next_item(), Cause::kMemory});
}

void ItemWriter::FollowAll(const Touched& touched, Access access, StreamId stream) {
  Follow(touched.write, stream);
  if (access == Access::kRead) return;
  for (const std::uint32_t read : touched.read) Follow(read, stream);
}

void ItemWriter::Follow(std::uint32_t before, StreamId stream) {
  if (before == kNone || before == next_item()) return;
  if (skeleton_.items[before].stream == stream) return;
  skeleton_.dependencies.push_back({before, next_item(), CauseOf(before, stream)});
}

Cause ItemWriter::CauseOf(std::uint32_t before, StreamId stream) const {
  const bool copy_waits = program_.streams[stream].kind != StreamKind::kCompute;
  const Instruction& item = skeleton_.items[before];
  if (item.opcode == Opcode::kAlloc) return Cause::kMemory;
  if (item.opcode != Opcode::kCopy) return copy_waits ? Cause::kProduced : Cause::kData;
  if (program_.copies[item.arg].direction == Direction::kHostToDevice) return Cause::kSwapIn;
  return Cause::kSwapOut;
}

}  // namespace spillway
