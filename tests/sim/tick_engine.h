// The slow and obvious engine: a clock that ticks through every nanosecond, at each of which the host and every stream do
// what they can. No contention, no addresses; everything else of sim/program/program.h. A third opinion on the engines of
// sim/engine/simulate.h, with which it shares no code.
#ifndef SPILLWAY_TESTS_SIM_TICK_ENGINE_H_
#define SPILLWAY_TESTS_SIM_TICK_ENGINE_H_

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "tests/sim/sketch.h"

namespace spillway {

// REQUIRES of the sketch: no stream frees anything at the very moment at which it has allocated something, which of the two
// comes first being for the peak to say.
class TickEngine {
 public:
  TickEngine(const TimedSketch& sketch, const Conditions& conditions)
      : program_(sketch.program),
        durations_(sketch.durations),
        conditions_(conditions),
        lanes_(program_.streams.size()),
        recorded_(program_.events, false) {}

  Simulated Run() {
    for (;; ++now_) {
      while (HostMoves() || AnyStreamMoves()) {
      }
      if (failed_) return {.completed = false, .failed_at = next_, .failed_live = in_use_};
      for (const Bytes freed : freed_) live_ -= freed;
      for (const Bytes allocated : allocated_) live_ += allocated;
      result_.live_peak = std::max(result_.live_peak, live_);
      freed_.clear();
      allocated_.clear();
      if (Done()) break;
    }
    result_.makespan = now_;
    return result_;
  }
  // By instruction, of the kernels and copies that have ended.
  const std::map<std::uint32_t, Span>& spans() const { return spans_; }

 private:
  struct Lane {
    std::deque<std::uint32_t> issued;
    Nanos busy_until = 0;
  };

  Nanos CostOf(Instruction in) const {
    const bool by_launch = in.opcode == Opcode::kKernel && !conditions_.launch_cost.empty();
    return by_launch ? conditions_.launch_cost[program_.kernels[in.arg].launch]
                     : conditions_.host_cost[static_cast<std::size_t>(in.opcode)];
  }

  // Turns to an instruction, pays for it, issues it. A sync is paid for when its event has come.
  bool HostMoves() {
    if (failed_ || next_ == program_.code.size() || now_ < host_until_) return false;
    const Instruction in = program_.code[next_];
    if (!paid_) {
      if (blocked_by_ != kNoInstruction && !ended_.contains(blocked_by_)) return false;
      blocked_by_ = kNoInstruction;
      if (in.opcode == Opcode::kHostSync && !recorded_[in.arg]) return false;
      host_until_ = now_ + CostOf(in);
      paid_ = true;
      return true;
    }
    if (in.opcode == Opcode::kAlloc && program_.memory == ProgramMemory::kPool &&
        !HasRoom(program_.buffers[in.arg].bytes))
      return TakesOldest();
    Issue(in);
    return true;
  }

  void Issue(Instruction in) {
    const std::uint32_t issued = next_++;
    paid_ = false;
    if (in.opcode == Opcode::kHostSync) return;
    lanes_[in.stream].issued.push_back(issued);
    if (in.opcode == Opcode::kKernel && program_.kernels[in.arg].recomputation) {
      host_until_ = now_ + conditions_.collection_time;
    }
    if (in.opcode == Opcode::kCopy && conditions_.Blocks(program_.copies[in.arg])) blocked_by_ = issued;
    if (in.opcode == Opcode::kAlloc && program_.memory == ProgramMemory::kPool) {
      result_.pool_peak = std::max(result_.pool_peak, in_use_ += program_.buffers[in.arg].bytes);
    }
    if (in.opcode == Opcode::kFree && program_.memory == ProgramMemory::kPool) Free(issued, in);
  }

  // Of a pool: at once on a compute stream, else when the stream gets there.
  void Free(std::uint32_t issued, Instruction in) {
    const Bytes bytes = program_.buffers[in.arg].bytes;
    if (program_.streams[in.stream].kind == StreamKind::kCompute) {
      in_use_ -= bytes;
    } else {
      pending_.push_back({issued, bytes});
    }
  }

  bool HasRoom(Bytes bytes) const {
    return conditions_.pool_capacity == 0 || in_use_ + bytes <= conditions_.pool_capacity;
  }

  // Of a pool without room: the host waits for the oldest free, and fails where there is none.
  bool TakesOldest() {
    failed_ = pending_.empty();
    if (failed_ || !ended_.contains(pending_.front().instruction)) return false;
    in_use_ -= pending_.front().bytes;
    pending_.pop_front();
    host_until_ = now_ + conditions_.collection_time;
    return true;
  }

  bool AnyStreamMoves() {
    bool any = false;
    for (Lane& lane : lanes_) any = StreamMoves(lane) || any;
    return any;
  }

  bool StreamMoves(Lane& lane) {
    if (lane.issued.empty() || now_ < lane.busy_until) return false;
    const std::uint32_t i = lane.issued.front();
    const Instruction in = program_.code[i];
    if (in.opcode == Opcode::kKernel || in.opcode == Opcode::kCopy) {
      if (!spans_.contains(i)) {
        lane.busy_until = now_ + durations_[i];
        spans_[i] = {i, now_, lane.busy_until};
        return true;
      }
    } else if (in.opcode == Opcode::kWait) {
      if (!recorded_[in.arg]) return false;
    } else if (in.opcode == Opcode::kRecord) {
      recorded_[in.arg] = true;
    } else {
      std::vector<Bytes>& changes = in.opcode == Opcode::kAlloc ? allocated_ : freed_;
      changes.push_back(program_.buffers[in.arg].bytes);
    }
    ended_.insert(i);
    lane.issued.pop_front();
    return true;
  }

  bool Done() const {
    const bool idle = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.issued.empty(); });
    return idle && next_ == program_.code.size() && now_ >= host_until_;
  }

  const Program& program_;
  const std::vector<Nanos>& durations_;
  const Conditions& conditions_;
  std::vector<Lane> lanes_;
  std::vector<bool> recorded_;
  Nanos now_ = 0;

  std::uint32_t next_ = 0;  // the host's instruction
  bool paid_ = false;       // for it
  Nanos host_until_ = 0;
  std::uint32_t blocked_by_ = kNoInstruction;  // a copy
  bool failed_ = false;
  struct Pending {
    std::uint32_t instruction;
    Bytes bytes;
  };
  std::deque<Pending> pending_;
  Bytes in_use_ = 0;

  std::set<std::uint32_t> ended_;
  std::map<std::uint32_t, Span> spans_;
  std::vector<Bytes> freed_, allocated_;  // now
  Bytes live_ = 0;
  Simulated result_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_TICK_ENGINE_H_
