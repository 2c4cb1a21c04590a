#include "calibrate/devices/cpu/session_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "calibrate/host/host_memory.h"

namespace spillway {

SessionMemory::SessionMemory(const Session& session, Bytes available)
    : session_(session), layout_(session), available_(available < 0 ? AvailableMemory() : available) {
  NeedRoom(0);
  try {
    arena_ = MappedMemory(session.arena_bytes);
    host_ = MappedMemory(layout_.host_bytes());
  } catch (const std::bad_alloc&) {
    throw DeviceError(Fault::kNoMemory, kNoInstruction,
                      fmt::format("the system refuses an arena of {} and host buffers of {}",
                                  FormatBytes(session.arena_bytes), FormatBytes(layout_.host_bytes())));
  }
  if (session.debug) FillCanary({arena_.data(), static_cast<std::size_t>(arena_.mapped())}, 0);
}

void SessionMemory::NeedRoom(Bytes library) const {
  const Bytes wanted = session_.arena_bytes + layout_.host_bytes() + library;
  if (available_ < 0 || wanted <= available_) return;
  throw DeviceError(Fault::kNoMemory, kNoInstruction,
                    fmt::format("an arena of {}, host buffers of {} and {} for the library are more than the {} of "
                                "memory that this machine has available",
                                FormatBytes(session_.arena_bytes), FormatBytes(layout_.host_bytes()),
                                FormatBytes(library), FormatBytes(available_)));
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
  const Bytes offset = layout_.OffsetOf(at, instruction);
  std::byte* const base = at.kind == BufferKind::kHost ? host_.data() : arena_.data();
  return {base + offset, static_cast<std::size_t>(at.bytes)};
}

// ---- debug sessions -------------------------------------------------------------------------------------------------

void SessionMemory::StartStep() {
  for (const SessionLayout::Range& range : layout_.EmptyInArena()) EmptyArena(range.begin, range.end);
  for (const SessionLayout::Range& range : layout_.EmptyOnHost()) {
    FillCanary({host_.data() + range.begin, static_cast<std::size_t>(range.end - range.begin)}, 0);
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
