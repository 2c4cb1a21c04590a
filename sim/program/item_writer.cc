#include "sim/program/item_writer.h"

#include <algorithm>
#include <cassert>

namespace spillway {

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

// A copy between a tile and a buffer of the whole tensor touches the tile's samples there.
void ItemWriter::TouchSide(const spillway::Copy& copy, BufferId side, Access access, StreamId stream) {
  const BufferId other = side == copy.from ? copy.to : copy.from;
  const bool tile = program_.buffers[other].box != kWhole && program_.buffers[side].box == kWhole;
  if (!tile) return Touch(side, access, stream);
  const Box& box = program_.boxes[program_.buffers[other].box];
  TouchSamples(side, box.begin[kBatchAxis], box.end[kBatchAxis], access, stream);
}

void ItemWriter::TouchSamples(BufferId buffer, std::int64_t begin, std::int64_t end, Access access, StreamId stream) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  std::vector<Section>& sections = sections_[buffer];
  if (sections.empty()) sections.push_back({kAll, touched_[buffer]});
  const auto cut_at = [&sections](std::int64_t place) {
    const auto section =
        std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return place < s.end; });
    const std::int64_t begins = section == sections.begin() ? 0 : std::prev(section)->end;
    if (begins == place) return section - sections.begin();
    const Section head{place, section->touched};
    const auto inserted = sections.insert(section, head);
    return inserted - sections.begin() + 1;
  };
  const auto first = cut_at(begin);
  const auto last = end == kAll ? std::ssize(sections) : cut_at(end);
  for (auto k = first; k < last; ++k) Note(sections[static_cast<std::size_t>(k)].touched, access, stream);
  if (access == Access::kRead || first + 1 >= last) return;
  // What was written at once is one section again.
  sections.erase(sections.begin() + first, sections.begin() + last - 1);
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
  if (item.opcode != Opcode::kCopy) return copy_waits ? Cause::kProduced : Cause::kData;
  if (program_.copies[item.arg].direction == Direction::kHostToDevice) return Cause::kSwapIn;
  return Cause::kSwapOut;
}

}  // namespace spillway
