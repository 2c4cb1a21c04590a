#include "calibrate/cpu/session_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "calibrate/cpu/canary.h"

namespace spillway {

namespace {

constexpr Bytes kHostAlignment = 4 * kKiB;

}  // namespace

SessionMemory::SessionMemory(const Session& session, Bytes available)
    : session_(session),
      available_(available < 0 ? AvailableMemory() : available),
      keep_at_alloc_(session.program->buffers.size()),
      keep_at_free_(session.program->buffers.size()) {
  PlaceHostBuffers();
  NeedRoom(0);
  for (const Resident& resident : session.residents) {
    keep_at_alloc_[resident.first.buffer] = true;
    keep_at_free_[resident.last.buffer] = true;
  }
  try {
    arena_ = MappedMemory(session.arena_bytes);
    host_ = MappedMemory(host_total_);
  } catch (const std::bad_alloc&) {
    throw DeviceError(Fault::kNoMemory, kNoInstruction,
                      fmt::format("the system refuses an arena of {} and host buffers of {}",
                                  FormatBytes(session.arena_bytes), FormatBytes(host_total_)));
  }
  if (session.debug) FillCanary({arena_.data(), static_cast<std::size_t>(arena_.mapped())}, 0);
}

void SessionMemory::PlaceHostBuffers() {
  for (const Buffer& buffer : session_.program->buffers) {
    host_offset_.push_back(host_total_);
    if (buffer.kind != BufferKind::kHost) continue;
    host_total_ += (buffer.bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  }
}

void SessionMemory::NeedRoom(Bytes library) const {
  const Bytes wanted = session_.arena_bytes + host_total_ + library;
  if (available_ < 0 || wanted <= available_) return;
  throw DeviceError(Fault::kNoMemory, kNoInstruction,
                    fmt::format("an arena of {}, host buffers of {} and {} for the library are more than the {} of "
                                "memory that this machine has available",
                                FormatBytes(session_.arena_bytes), FormatBytes(host_total_), FormatBytes(library),
                                FormatBytes(available_)));
}

void SessionMemory::ReserveLibrary(Bytes bytes) {
  if (bytes <= library_.bytes()) return;
  NeedRoom(bytes);
  try {
    library_ = MappedMemory(bytes);
  } catch (const std::bad_alloc&) {
    throw DeviceError(Fault::kNoMemory, kNoInstruction,
                      fmt::format("the system refuses {} for the library", FormatBytes(bytes)));
  }
}

std::span<std::byte> SessionMemory::At(const Location& at, std::uint32_t instruction) const {
  const bool host = at.kind == BufferKind::kHost;
  const Bytes size = host ? session_.program->buffers[at.buffer].bytes : session_.arena_bytes;
  if (at.offset < 0 || at.bytes < 0 || at.bytes > size || at.offset > size - at.bytes) {
    throw DeviceError(Fault::kContract, instruction,
                      fmt::format("buffer {} at [{}, {}) lies outside {} of {} bytes", at.buffer, at.offset,
                                  at.offset + at.bytes, host ? "the host buffer" : "the arena", size));
  }
  std::byte* const base = host ? host_.data() + host_offset_[at.buffer] : arena_.data();
  return {base + at.offset, static_cast<std::size_t>(at.bytes)};
}

// ---- debug sessions -------------------------------------------------------------------------------------------------

void SessionMemory::StartStep() {
  std::vector<std::pair<Bytes, Bytes>> kept;
  std::vector<bool> lasting(session_.program->buffers.size(), false);
  for (const Resident& resident : session_.residents) {
    const Location& at = resident.first;
    if (at.kind == BufferKind::kHost) {
      lasting[at.buffer] = true;
    } else {
      kept.emplace_back(at.offset, at.offset + at.bytes);
    }
  }
  kept.emplace_back(session_.arena_bytes, session_.arena_bytes);
  std::sort(kept.begin(), kept.end());
  Bytes next = 0;
  for (const auto& [begin, end] : kept) {
    if (begin > next) EmptyArena(next, begin);
    next = std::max(next, end);
  }
  for (BufferId b = 0; b < lasting.size(); ++b) {
    const Buffer& buffer = session_.program->buffers[b];
    if (buffer.kind != BufferKind::kHost || lasting[b]) continue;
    FillCanary({host_.data() + host_offset_[b], static_cast<std::size_t>(buffer.bytes)}, 0);
  }
}

void SessionMemory::NoteHighest(Bytes end) {
  Bytes highest = highest_.load();
  while (highest < end && !highest_.compare_exchange_weak(highest, end)) {
  }
}

void SessionMemory::EmptyArena(Bytes begin, Bytes end) {
  const std::span<std::byte> memory(arena_.data() + begin, static_cast<std::size_t>(end - begin));
  const Bytes last = LastChange(memory, begin);
  if (last > 0) NoteHighest(begin + last);
  FillCanary(memory, begin);
}

void SessionMemory::CheckEmpty(const Location& at, std::uint32_t instruction) const {
  const Bytes last = LastChange(At(at, instruction), at.offset);
  if (last == 0) return;
  throw DeviceError(
      Fault::kContents, instruction,
      fmt::format("buffer {} gets addresses that are still in use: byte {}", at.buffer, at.offset + last - 1));
}

void SessionMemory::Empty(const Location& at, std::uint32_t instruction) {
  At(at, instruction);
  EmptyArena(at.offset, at.offset + at.bytes);
}

bool SessionMemory::Unwritten(const Location& at, Bytes bytes, std::uint32_t instruction) const {
  return HoldsCanary(At(at, instruction).first(static_cast<std::size_t>(std::clamp<Bytes>(bytes, 0, at.bytes))),
                     at.offset);
}

void SessionMemory::CheckEnd() const {
  const std::span<const std::byte> tail(arena_.data() + arena_.bytes(),
                                        static_cast<std::size_t>(arena_.mapped() - arena_.bytes()));
  const Bytes last = LastChange(tail, arena_.bytes());
  if (last == 0) return;
  throw DeviceError(Fault::kContents, kNoInstruction,
                    fmt::format("something was written behind the arena's end, up to byte {}", arena_.bytes() + last));
}

Bytes SessionMemory::HighWater() {
  const Bytes last = LastChange({arena_.data(), static_cast<std::size_t>(arena_.bytes())}, 0);
  NoteHighest(last);
  return highest_.load();
}

}  // namespace spillway
