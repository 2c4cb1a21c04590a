// What is brought to a session's memory and taken from it, between steps.
#include <fmt/format.h>

#include <cassert>
#include <cstring>

#include "calibrate/devices/cuda/session.h"
#include "calibrate/host/host_memory.h"

namespace spillway {

void CudaSession::Write(const Location& at, std::span<const std::byte> bytes) {
  std::byte* const place = memory_.At(at, kNoInstruction);
  assert(at.bytes == static_cast<Bytes>(bytes.size()));
  if (bytes.empty()) return;
  if (at.kind == BufferKind::kHost) {
    std::memcpy(place, bytes.data(), bytes.size());
    return;
  }
  Guarded(kNoInstruction, [&] { staging_.Upload(place, bytes); });
}

void CudaSession::Read(const Location& at, std::span<std::byte> bytes) {
  const std::byte* const place = memory_.At(at, kNoInstruction);
  assert(at.bytes == static_cast<Bytes>(bytes.size()));
  if (bytes.empty()) return;
  if (at.kind == BufferKind::kHost) {
    std::memcpy(bytes.data(), place, bytes.size());
    return;
  }
  Guarded(kNoInstruction, [&] { staging_.Download(bytes, place); });
}

bool CudaSession::WriteKept(const Location& at, std::uint64_t identity) {
  if (at.kind == BufferKind::kHost) return false;
  std::byte* const place = memory_.At(at, kNoInstruction);
  const std::byte* const copy = device_.kept_.Find(identity, at.bytes);
  if (copy == nullptr) return false;
  Guarded(kNoInstruction, [&] { calls_.CopyOnDevice(place, copy, at.bytes, service_.stream()); });
  return true;
}

// Not in debug sessions: memory is measured there.
void CudaSession::Keep(const Location& at, std::uint64_t identity) {
  if (at.kind == BufferKind::kHost || session_.debug) return;
  const std::byte* const place = memory_.At(at, kNoInstruction);
  if (device_.kept_.Find(identity, at.bytes) != nullptr) return;
  Guarded(kNoInstruction, [&] {
    std::byte* const copy = device_.kept_.Make(identity, at.bytes);
    if (copy != nullptr) calls_.CopyOnDevice(copy, place, at.bytes, service_.stream());
  });
}

// Looked at where they arrive: they are a gigabyte, and nobody wants them.
void CudaSession::CheckResidents() {
  for (const Resident& resident : session_.residents) {
    const Tensor& tensor = session_.step->tensors[static_cast<std::size_t>(resident.tensor)];
    if (tensor.Traits().on_host || !HoldsNanAt(resident.last)) continue;
    throw DeviceError(Fault::kContents, kNoInstruction,
                      fmt::format("{} holds NaN after the step: memory was read that holds nothing, or training "
                                  "diverges",
                                  tensor.name));
  }
}

bool CudaSession::HoldsNanAt(const Location& at) {
  const std::byte* const place = memory_.At(at, kNoInstruction);
  if (at.kind == BufferKind::kHost) return HoldsNan({place, static_cast<std::size_t>(at.bytes)});
  bool found = false;
  Guarded(kNoInstruction, [&] {
    staging_.Look(place, at.bytes, CudaStaging::Order::kFromBegin, [&](Bytes, std::span<const std::byte> piece) {
      found = HoldsNan(piece);
      return !found;
    });
  });
  return found;
}

double CudaSession::ReadLoss() {
  return Guarded(kNoInstruction, [&] { return kernels_.ReadLoss(staging_); });
}

std::map<LayerId, std::vector<float>> CudaSession::TakeStatistics() {
  Guarded(kNoInstruction, [&] { kernels_.DownloadStatistics(staging_); });
  return training_.TakeStatistics();
}

Bytes CudaSession::HighWater() {
  Guarded(kNoInstruction, [&] { memory_.LookFor(0, session_.arena_bytes, staging_); });
  return memory_.highest();
}

}  // namespace spillway
