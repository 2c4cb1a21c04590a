// Parts that both engines use: memory changes by stream, the pool, and the account of stalls.
#ifndef SPILLWAY_SIM_ENGINE_ENGINE_INTERNAL_H_
#define SPILLWAY_SIM_ENGINE_ENGINE_INTERNAL_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <vector>

#include "sim/engine/simulate.h"

namespace spillway {

// ---- Live bytes over time from the allocations and frees that each stream reached, for both engines.

// Each stream's changes are in time order, so the curve is a merge of at most a handful of sorted lists.
// A key is 2 x time, plus 1 for an allocation: at equal times frees come first (sim/program/program.h, clause 3).
inline constexpr Nanos MemoryKey(Nanos time, bool is_alloc) { return 2 * time + (is_alloc ? 1 : 0); }

// `lists` holds one list per stream, each closed by an entry with key kEndOfMemoryList. Returns the peak; appends
// the points to `curve` if given.
inline constexpr Nanos kEndOfMemoryList = INT64_MAX;
Bytes MergeMemory(std::span<const std::pair<Nanos, Bytes>* const> lists, std::vector<Timeline::MemoryPoint>* curve);

// The bytes on device 0 at the time of Simulated::live_peak, by TensorClass, then workspace; they add up to the peak.
// If the peak occurs several times, the first time counts.
std::vector<Bytes> MemoryByClassAtPeak(const Program& program, const TrainingStep& step,
                                       std::span<const MemoryChange> changes);
// The mean bytes on device 0 over the simulated `makespan`, weighted by time, by TensorClass, then workspace.
std::vector<Bytes> MeanMemoryByClass(const Program& program, const TrainingStep& step,
                                     std::span<const MemoryChange> changes, Nanos makespan);
// Whose memory on device 0 changed when, in the order of the memory curve. REQUIRES: `scratch` as the engine that
// simulated `program` left it.
std::vector<MemoryChange> MemoryChanges(const Program& program, const Scratch& scratch);

// The relaxing engine without a timeline, of programs whose allocations cannot fail and none of whose copies block; without `peak` live_peak
// stays 0.
Simulated SimulateRelaxArena(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                             Scratch& scratch, bool peak);
inline bool IsForRelaxArena(const Program& program, const Conditions& conditions) {
  return program.memory != ProgramMemory::kPool && conditions.blocking_copies == BlockingCopies::kNone;
}
// The event engine with neither a timeline nor a peak.
Simulated SimulateEventTimes(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                             Scratch& scratch);

inline constexpr std::size_t kCauses = 7;  // the values of Cause

// Records when each stream reached its allocations and frees on device 0. The lists are the scratch's, kept from one
// simulation to the next, so that a search of thousands allocates them once. Change() within a stream comes in order of
// time; Finish() ends the log and returns the peak in bytes, and the curve where a timeline is given. Without kKept nothing
// is recorded, and the peak is 0.
template <bool kKept = true>
class MemoryLog {
 public:
  MemoryLog(const Program& program, Scratch& scratch) : lists_(scratch.memory), streams_(program.streams.size()) {
    assert(streams_ <= kMaxStreams);
    if (!kKept) return;
    if (lists_.size() < streams_) lists_.resize(streams_);
    // A buffer comes once and goes once; one more closes the list.
    const std::size_t most = std::min(program.code.size(), 2 * program.buffers.size()) + 1;
    for (std::size_t s = 0; s < streams_; ++s) {
      if (lists_[s].size() < most) lists_[s].resize(most);
      end_[s] = lists_[s].data();
    }
  }
  void Change(StreamId stream, Nanos time, bool is_alloc, Bytes bytes) {
    if (!kKept) return;
    assert(end_[stream] + 1 < lists_[stream].data() + lists_[stream].size() && "a buffer comes once and goes once");
    *end_[stream]++ = {MemoryKey(time, is_alloc), is_alloc ? bytes : -bytes};
  }
  // Streams that never touched memory are left out of the merge.
  Bytes Finish(Timeline* timeline) {
    if (!kKept) return 0;
    std::array<const std::pair<Nanos, Bytes>*, kMaxStreams> begin{};
    std::size_t used = 0;
    for (std::size_t s = 0; s < streams_; ++s) {
      if (end_[s] == lists_[s].data()) continue;
      *end_[s] = {kEndOfMemoryList, 0};
      begin[used++] = lists_[s].data();
    }
    if (used == 0) return 0;
    return MergeMemory({begin.data(), used}, timeline != nullptr ? &timeline->memory : nullptr);
  }

 private:
  std::vector<std::vector<std::pair<Nanos, Bytes>>>& lists_;
  std::size_t streams_;
  std::array<std::pair<Nanos, Bytes>*, kMaxStreams> end_{};
};

// Clause 6 of sim/program/program.h, as far as it needs no clock: which bytes are out, and which free comes next.
// `capacity` in bytes, 0: as many as are asked for. A free whose stream has not got there yet is pending; they are taken
// in the order in which they were issued.
class Pool {
 public:
  Pool(Bytes capacity, Scratch& scratch) : capacity_(capacity), pending_(scratch.pending) { pending_.clear(); }
  bool Fits(Bytes bytes) const { return capacity_ == 0 || in_use_ + bytes <= capacity_; }
  bool HasPending() const { return oldest_ < pending_.size(); }
  std::uint32_t OldestPending() const { return pending_[oldest_].instruction; }
  void TakeOldest() { in_use_ -= pending_[oldest_++].bytes; }
  void Allocate(Bytes bytes) { peak_ = std::max(peak_, in_use_ += bytes); }
  void FreeNow(Bytes bytes) { in_use_ -= bytes; }
  void FreeLater(std::uint32_t instruction, Bytes bytes) { pending_.push_back({instruction, bytes}); }
  Bytes in_use() const { return in_use_; }
  Bytes peak() const { return peak_; }

 private:
  Bytes capacity_;
  std::vector<Scratch::PendingFree>& pending_;
  std::size_t oldest_ = 0;
  Bytes in_use_ = 0;
  Bytes peak_ = 0;
};

// Why compute streams stood still. A wait is charged to its cause. A late issue is charged to what blocked the host
// meanwhile, and otherwise to the host itself.
class StallAccount {
 public:
  explicit StallAccount(Timeline* timeline) : timeline_(timeline) {
    if (timeline_ != nullptr) timeline_->stall.assign(kCauses, 0);
  }
  void Wait(std::uint32_t instruction, Cause cause, Nanos from, Nanos to) {
    if (to <= from) return;
    timeline_->stall[static_cast<std::size_t>(cause)] += to - from;
    timeline_->stalls.push_back({from, to, cause, false, instruction});
  }
  void HostBlocked(std::uint32_t instruction, Cause cause, Nanos from, Nanos to) {
    timeline_->host_waits.push_back({from, to, cause, true, instruction});
  }
  std::size_t blocks() const { return timeline_ == nullptr ? 0 : timeline_->host_waits.size(); }
  // The stream was ready at `ready`, the instruction was issued at `issued`, after the first `blocks` blocks.
  void LateIssue(std::uint32_t instruction, Nanos ready, Nanos issued, std::size_t blocks) {
    if (issued <= ready) return;
    Nanos until = issued;  // from there on all is charged
    while (blocks-- > 0 && timeline_->host_waits[blocks].end > ready) {
      const Stall& block = timeline_->host_waits[blocks];
      const Nanos from = std::max(block.start, ready), to = std::min(block.end, issued);
      HostBusy(instruction, to, until);
      timeline_->stall[static_cast<std::size_t>(block.cause)] += to - from;
      if (to > from) timeline_->stalls.push_back({from, to, block.cause, true, block.instruction});
      until = from;
    }
    HostBusy(instruction, ready, until);
  }

 private:
  void HostBusy(std::uint32_t instruction, Nanos from, Nanos to) {
    timeline_->host_stall += to - from;
    if (to > from) timeline_->stalls.push_back({from, to, Cause::kNone, true, instruction});
  }

  Timeline* timeline_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_ENGINE_INTERNAL_H_
