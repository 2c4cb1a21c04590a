#include "calibrate/devices/cuda/session_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace spillway {

namespace {

// What was asked for, what the library says of it, and how much there is.
[[noreturn]] void NoMemory(CudaCalls& calls, const DeviceError& error, const std::string& wanted, bool device) {
  if (error.fault() != Fault::kNoMemory) throw error;
  std::string there;
  if (device) {
    const CudaMemory memory = calls.Memory();
    there = fmt::format(" ({} of the device's {} are free)", FormatBytes(memory.free), FormatBytes(memory.total));
  }
  throw DeviceError(Fault::kNoMemory, kNoInstruction, fmt::format("no room for {}{}: {}", wanted, there, error.what()));
}

// One past the last byte that is not empty. By words: an arena is many GB.
Bytes EndOfContents(const std::byte* bytes, Bytes end) {
  constexpr Bytes kWord = sizeof(std::uint64_t);
  for (std::uint64_t word = 0; end >= kWord; end -= kWord) {
    std::memcpy(&word, bytes + end - kWord, kWord);
    if (word != ~std::uint64_t{0}) break;
  }
  while (end > 0 && bytes[end - 1] == std::byte{kCudaEmpty}) --end;
  return end;
}

}  // namespace

std::byte* PinnedPool::Get(Bytes bytes) {
  if (bytes <= bytes_) return memory_.get();
  Release();
  memory_ = NewPinnedMemory(calls_, bytes);
  bytes_ = bytes;
  return memory_.get();
}

void PinnedPool::Release() noexcept {
  memory_.reset();
  bytes_ = 0;
}

CudaSessionMemory::CudaSessionMemory(CudaCalls& calls, const Session& session, PinnedPool& pool)
    : calls_(calls),
      layout_(session),
      arena_bytes_(session.arena_bytes),
      pool_(pool),
      arena_(nullptr, CudaFree{&calls}),
      library_(nullptr, CudaFree{&calls}) {
  try {
    arena_ = NewDeviceMemory(calls, session.arena_bytes);
  } catch (const DeviceError& error) {
    NoMemory(calls, error, "an arena of " + FormatBytes(session.arena_bytes), true);
  }
}

void CudaSessionMemory::ReserveLibrary(Bytes bytes) {
  try {
    library_ = NewDeviceMemory(calls_, bytes);
  } catch (const DeviceError& error) {
    NoMemory(calls_, error, fmt::format("{} beside the arena", FormatBytes(bytes)), true);
  }
  library_bytes_ = bytes;
}

void CudaSessionMemory::ReserveHost(Bytes staging) {
  try {
    host_ = pool_.Get(layout_.host_bytes() + staging);
  } catch (const DeviceError& error) {
    NoMemory(calls_, error,
             fmt::format("host buffers of {} in pinned memory", FormatBytes(layout_.host_bytes() + staging)), false);
  }
  staging_ = host_ + layout_.host_bytes();
  staging_bytes_ = staging;
}

std::byte* CudaSessionMemory::At(const Location& at, std::uint32_t instruction) const {
  const Bytes offset = layout_.OffsetOf(at, instruction);
  return (at.kind == BufferKind::kHost ? host_ : arena_.get()) + offset;
}

void CudaSessionMemory::FillArena(std::span<const std::byte> bytes, CudaStaging& staging, CudaStream* stream) const {
  Bytes done = std::min(arena_bytes_, static_cast<Bytes>(bytes.size()));
  staging.Upload(arena_.get(), bytes.first(static_cast<std::size_t>(done)));
  while (done < arena_bytes_) {
    const Bytes more = std::min(done, arena_bytes_ - done);
    calls_.CopyOnDevice(arena_.get() + done, arena_.get(), more, stream);
    done += more;
  }
}

// ---- debug sessions ---------------------------------------------------------------------------------------------------

void CudaSessionMemory::Empty(Bytes begin, Bytes end, CudaStream* stream) const {
  if (end > begin) calls_.Fill(arena_.get() + begin, kCudaEmpty, end - begin, stream);
}

void CudaSessionMemory::EmptyHost() const {
  for (const SessionLayout::Range& range : layout_.EmptyOnHost()) {
    std::memset(host_ + range.begin, kCudaEmpty, static_cast<std::size_t>(range.end - range.begin));
  }
}

// From the end down, until something is found.
void CudaSessionMemory::LookFor(Bytes begin, Bytes end, CudaStaging& staging) {
  begin = std::max(begin, highest_);
  if (end <= begin) return;
  staging.Look(arena_.get() + begin, end - begin, CudaStaging::Order::kFromEnd,
               [&](Bytes offset, std::span<const std::byte> piece) {
                 const Bytes last = EndOfContents(piece.data(), static_cast<Bytes>(piece.size()));
                 if (last > 0) highest_ = begin + offset + last;
                 return last == 0;
               });
}

}  // namespace spillway
