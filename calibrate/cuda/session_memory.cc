#include "calibrate/cuda/session_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace spillway {

namespace {

constexpr Bytes kStagingAlignment = 4 * kKiB;

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
    host_ = pool_.Get(layout_.host_bytes() + staging + kStagingAlignment);
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

void CudaSessionMemory::Upload(std::byte* to, std::span<const std::byte> from, CudaService& service) const {
  for (std::size_t done = 0; done < from.size();) {
    const std::size_t piece = std::min(from.size() - done, staging().size());
    std::memcpy(staging_, from.data() + done, piece);
    calls_.Copy(to + done, staging_, static_cast<Bytes>(piece), Direction::kHostToDevice, service.stream());
    service.Wait();
    done += piece;
  }
}

void CudaSessionMemory::Download(std::span<std::byte> to, const std::byte* from, CudaService& service) const {
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t piece = std::min(to.size() - done, staging().size());
    calls_.Copy(staging_, from + done, static_cast<Bytes>(piece), Direction::kDeviceToHost, service.stream());
    service.Wait();
    std::memcpy(to.data() + done, staging_, piece);
    done += piece;
  }
}

void CudaSessionMemory::FillArena(std::span<const std::byte> bytes, CudaService& service) const {
  Bytes done = std::min(arena_bytes_, static_cast<Bytes>(bytes.size()));
  Upload(arena_.get(), bytes.first(static_cast<std::size_t>(done)), service);
  while (done < arena_bytes_) {
    const Bytes more = std::min(done, arena_bytes_ - done);
    calls_.CopyOnDevice(arena_.get() + done, arena_.get(), more, service.stream());
    done += more;
  }
  service.Wait();
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

// From the end down, a piece at a time, until something is found.
void CudaSessionMemory::LookFor(Bytes begin, Bytes end, CudaService& service) {
  begin = std::max(begin, highest_);
  while (end > begin) {
    const Bytes from = std::max(begin, end - staging_bytes_);
    calls_.Copy(staging_, arena_.get() + from, end - from, Direction::kDeviceToHost, service.stream());
    service.Wait();
    const Bytes last = EndOfContents(staging_, end - from);
    if (last > 0) {
      highest_ = from + last;
      return;
    }
    end = from;
  }
}

}  // namespace spillway
