#include "sim/execute/fake/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spillway {

namespace {

[[noreturn]] void Broken(std::uint32_t instruction, const std::string& what) {
  throw DeviceError(Fault::kContract, instruction, what);
}

bool Overlap(const Location& a, const Location& b) {
  const bool host = a.kind == BufferKind::kHost;
  if (host != (b.kind == BufferKind::kHost) || (host && a.buffer != b.buffer)) return false;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

FakeMemory::FakeMemory(const Session& session)
    : session_(session),
      program_(*session.program),
      host_(program_.buffers.size()),
      life_(program_.buffers.size(), Life::kUnborn) {}

void FakeMemory::StartStep() {
  std::fill(life_.begin(), life_.end(), Life::kUnborn);
  const std::vector<Fingerprint> start = HostAtStart(program_);
  std::vector<Contents> host(host_.size());
  for (const Resident& resident : session_.residents) {
    const BufferId b = resident.first.buffer;
    if (resident.first.kind == BufferKind::kHost) std::swap(host[b], host_[b]);
  }
  for (BufferId b = 0; session_.step == nullptr && b < start.size(); ++b) {
    host[b].Set(0, program_.buffers[b].bytes, start[b]);
  }
  host_ = std::move(host);
}

void FakeMemory::CheckInside(std::uint32_t instruction, const Location& at) const {
  if (at.kind == BufferKind::kHost) return;
  if (at.offset >= 0 && at.offset + at.bytes <= session_.arena_bytes) return;
  Broken(instruction, fmt::format("buffer {} at [{}, {}) lies outside the arena of {} bytes", at.buffer, at.offset,
                                  at.offset + at.bytes, session_.arena_bytes));
}

void FakeMemory::CheckQuiet(std::uint32_t instruction, const Location& at, Access access, const char* what) const {
  for (const Work& other : work_) {
    const bool both_read = access == Access::kRead && other.access.access == Access::kRead;
    if (other.instruction == instruction || both_read || !Overlap(at, other.access.at)) continue;
    Broken(instruction, fmt::format("{} buffer {} while instruction {} is at work on buffer {} there", what, at.buffer,
                                    other.instruction, other.access.at.buffer));
  }
}

void FakeMemory::Alloc(std::uint32_t instruction, const Location& at, bool keep) {
  CheckInside(instruction, at);
  if (life_[at.buffer] != Life::kUnborn) Broken(instruction, fmt::format("buffer {} exists already", at.buffer));
  life_[at.buffer] = Life::kLive;
  if (at.bytes == 0) return;
  auto next = live_.lower_bound(at.offset);
  if (next != live_.begin() && Overlap(std::prev(next)->second, at)) --next;
  if (next != live_.end() && Overlap(next->second, at)) {
    Broken(instruction,
           fmt::format("buffer {} is given addresses of buffer {}, which is live", at.buffer, next->second.buffer));
  }
  CheckQuiet(instruction, at, Access::kWrite, "allocates");
  live_[at.offset] = at;
  if (!keep) arena_.Set(at.offset, at.offset + at.bytes, kNothing);
}

void FakeMemory::Free(std::uint32_t instruction, const Location& at, bool keep) {
  if (life_[at.buffer] != Life::kLive) Broken(instruction, fmt::format("buffer {} is not live", at.buffer));
  CheckQuiet(instruction, at, Access::kWrite, "frees");
  life_[at.buffer] = Life::kDead;
  if (at.bytes == 0) return;
  live_.erase(at.offset);
  if (!keep) arena_.Set(at.offset, at.offset + at.bytes, kNothing);
}

void FakeMemory::Start(std::uint32_t instruction, std::span<const OperandCall> accesses) {
  for (const OperandCall& operand : accesses) {
    const Location& at = operand.at;
    CheckInside(instruction, at);
    if (session_.debug && at.kind != BufferKind::kHost && life_[at.buffer] != Life::kLive) {
      Broken(instruction, fmt::format("uses buffer {}, which is {}", at.buffer,
                                      life_[at.buffer] == Life::kDead ? "freed" : "not allocated yet"));
    }
    CheckQuiet(instruction, at, operand.access, operand.access == Access::kRead ? "reads" : "writes");
    if (operand.access != Access::kRead && at.kind != BufferKind::kHost) {
      high_water_ = std::max(high_water_, at.offset + at.bytes);
    }
  }
  for (const OperandCall& operand : accesses) work_.push_back({instruction, operand});
}

void FakeMemory::Finish(std::uint32_t instruction) {
  std::erase_if(work_, [&](const Work& work) { return work.instruction == instruction; });
}

void FakeMemory::CheckAllFreed() const {
  for (BufferId b = 0; b < life_.size(); ++b) {
    if (program_.buffers[b].kind == BufferKind::kHost || life_[b] == Life::kDead) continue;
    Broken(kNoInstruction, fmt::format("buffer {} is never {}", b, life_[b] == Life::kLive ? "freed" : "allocated"));
  }
}

void FakeMemory::Set(const Location& at, Fingerprint value) {
  ContentsOf(at).Set(at.offset, at.offset + at.bytes, value);
}

void FakeMemory::Copy(const Location& from, const Location& to, const BoxRuns* runs, bool fill) {
  if (fill) Set(to, kZeroes);
  if (runs == nullptr) return ContentsOf(to).CopyFrom(ContentsOf(from), from.offset, to.offset, from.bytes);
  ForEachRun(*runs, [&](Bytes from_offset, Bytes to_offset, Bytes run) {
    ContentsOf(to).CopyFrom(ContentsOf(from), from.offset + from_offset, to.offset + to_offset, run);
  });
}

bool FakeMemory::Complete(const Location& from, const BoxRuns& runs) const {
  bool complete = true;
  ForEachRun(runs, [&](Bytes offset, Bytes, Bytes run) {
    const Bytes begin = from.offset + offset;
    complete = complete && ContentsOf(from).Complete(begin, begin + run);
  });
  return complete;
}

Fingerprint FakeMemory::Digest(const Location& at, Bytes bytes) const {
  return ContentsOf(at).Digest(at.offset, at.offset + bytes);
}

bool FakeMemory::Complete(const Location& at, Bytes bytes) const {
  return ContentsOf(at).Complete(at.offset, at.offset + bytes);
}

}  // namespace spillway
