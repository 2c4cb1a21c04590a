#include "sim/item_writer.h"

#include <algorithm>
#include <cassert>

namespace spillway {

void ItemWriter::Reserve(std::size_t items) {
  program_.buffers.reserve(items / 2);
  if (dry_) return;
  skeleton_.items.reserve(items);
  skeleton_.dependencies.reserve(items / 2);
  program_.operands.reserve(items);
  program_.kernels.reserve(items / 4);
  touched_.reserve(items / 2);
}

BufferId ItemWriter::NewBuffer(Bytes bytes, TensorId tensor, BufferKind kind, int place) {
  program_.buffers.push_back(
      {.bytes = bytes, .tensor = tensor, .place = static_cast<std::int16_t>(place), .kind = kind});
  if (!dry_) touched_.emplace_back();
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

void ItemWriter::Alloc(BufferId buffer, StreamId stream) {
  if (!program_.arena && last_compute_free_ != kNone && skeleton_.items[last_compute_free_].stream != stream) {
    skeleton_.dependencies.push_back({last_compute_free_, next_item(), Cause::kMemory});
  }
  Write(Opcode::kAlloc, stream, buffer);
}

void ItemWriter::Free(BufferId buffer, StreamId stream) {
  if (dry_) return;
  Touch(buffer, Access::kWrite, stream);
  if (program_.streams[stream].kind == StreamKind::kCompute) last_compute_free_ = next_item();
  Write(Opcode::kFree, stream, buffer);
}

void ItemWriter::Operand(BufferId buffer, Access access) {
  if (!dry_) program_.operands.push_back({buffer, access});
}

void ItemWriter::Kernel(OpId op, std::uint32_t launch, bool recomputation, StreamId stream) {
  if (dry_) return;
  const auto end = static_cast<std::uint32_t>(program_.operands.size());
  for (std::uint32_t k = first_operand_; k < end; ++k) {
    Touch(program_.operands[k].buffer, program_.operands[k].access, stream);
  }
  program_.kernels.push_back({op, launch, first_operand_, end - first_operand_, recomputation});
  first_operand_ = end;
  Write(Opcode::kKernel, stream, static_cast<std::uint32_t>(program_.kernels.size() - 1));
}

void ItemWriter::Copy(const spillway::Copy& copy, StreamId stream) {
  if (dry_) return;
  Touch(copy.from, Access::kRead, stream);
  Touch(copy.to, Access::kWrite, stream);
  program_.copies.push_back(copy);
  sync_cause_[stream] = copy.direction == Direction::kHostToDevice ? Cause::kSwapIn : Cause::kSwapOut;
  Write(Opcode::kCopy, stream, static_cast<std::uint32_t>(program_.copies.size() - 1));
}

void ItemWriter::HostSync(StreamId stream) {
  if (dry_ || last_[stream] == kNone) return;
  skeleton_.items.push_back({Opcode::kHostSync, stream, sync_cause_[stream], 0, last_[stream]});
}

void ItemWriter::Write(Opcode opcode, StreamId stream, std::uint32_t arg) {
  last_[stream] = next_item();
  skeleton_.items.push_back({opcode, stream, Cause::kNone, 0, arg});
}

void ItemWriter::Touch(BufferId buffer, Access access, StreamId stream) {
  Touched& touched = touched_[buffer];
  Follow(touched.write, stream);
  if (access == Access::kRead) {
    touched.read[stream] = next_item();
    return;
  }
  for (std::uint32_t read : touched.read) Follow(read, stream);
  touched.read.fill(kNone);
  touched.write = next_item();
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
