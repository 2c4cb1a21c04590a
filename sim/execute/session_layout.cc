#include "sim/execute/session_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

namespace {

constexpr Bytes kHostAlignment = 4 * kKiB;

}  // namespace

SessionLayout::SessionLayout(const Session& session)
    : session_(session),
      keep_at_alloc_(session.program->buffers.size()),
      keep_at_free_(session.program->buffers.size()) {
  for (const Buffer& buffer : session.program->buffers) {
    host_offset_.push_back(host_bytes_);
    if (buffer.kind != BufferKind::kHost) continue;
    host_bytes_ += RoundUp(buffer.bytes, kHostAlignment);
  }
  for (const Resident& resident : session.residents) {
    keep_at_alloc_[resident.first.buffer] = true;
    keep_at_free_[resident.last.buffer] = true;
  }
}

Bytes SessionLayout::OffsetOf(const Location& at, std::uint32_t instruction) const {
  const bool host = at.kind == BufferKind::kHost;
  const Bytes size = host ? session_.program->buffers[at.buffer].bytes : session_.arena_bytes;
  if (at.offset < 0 || at.bytes < 0 || at.bytes > size || at.offset > size - at.bytes) {
    throw DeviceError(Fault::kContract, instruction,
                      fmt::format("buffer {} at [{}, {}) lies outside {} of {} bytes", at.buffer, at.offset,
                                  at.offset + at.bytes, host ? "the host buffer" : "the arena", size));
  }
  return host ? host_offset_[at.buffer] + at.offset : at.offset;
}

std::vector<SessionLayout::Range> SessionLayout::EmptyInArena() const {
  std::vector<Range> kept, empty;
  for (const Resident& resident : session_.residents) {
    const Location& at = resident.first;
    if (at.kind != BufferKind::kHost) kept.push_back({at.offset, at.offset + at.bytes});
  }
  kept.push_back({session_.arena_bytes, session_.arena_bytes});
  std::sort(kept.begin(), kept.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Bytes next = 0;
  for (const Range& range : kept) {
    if (range.begin > next) empty.push_back({next, range.begin});
    next = std::max(next, range.end);
  }
  return empty;
}

std::vector<SessionLayout::Range> SessionLayout::EmptyOnHost() const {
  std::vector<bool> lasting(session_.program->buffers.size(), false);
  for (const Resident& resident : session_.residents) {
    if (resident.first.kind == BufferKind::kHost) lasting[resident.first.buffer] = true;
  }
  std::vector<Range> empty;
  for (BufferId b = 0; b < lasting.size(); ++b) {
    const Buffer& buffer = session_.program->buffers[b];
    if (buffer.kind != BufferKind::kHost || lasting[b]) continue;
    empty.push_back({host_offset_[b], host_offset_[b] + buffer.bytes});
  }
  return empty;
}

}  // namespace spillway
