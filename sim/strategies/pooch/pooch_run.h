// One simulation of PoocH's timeline model, and what a traced one leaves for others to begin in its middle. Internal to
// pooch_model and pooch_alternatives.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_RUN_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_RUN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/program/lower/lower.h"
#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {

// Times in nanoseconds, sizes in bytes, as in the run.
struct RunTrace {
  struct Forward {  // at the start of a forward op
    Nanos compute = 0, lane = 0;
    Bytes live = 0;
    std::size_t oldest = 0, pending = 0;  // swap-outs that have ended, and that have been asked for
  };
  struct Walk {  // at the start of a timing
    Bytes live = 0;
    std::int64_t visits = 0;
  };
  struct Backward {  // at the start of a timing
    Nanos compute = 0, lane = 0;
    std::size_t issued = 0, arrived = 0;  // swap-ins
  };
  struct MapTrace {  // the timings that asked for it while it was not there; -1: none
    std::int32_t first = -1, last = -1;
  };
  struct Passing {  // a swapped map that was copied in for one recomputation
    std::int32_t map = 0, timing = 0;
  };
  std::vector<Forward> forward;
  std::vector<Walk> walk;
  std::vector<Backward> backward;
  std::vector<MapTrace> maps;
  std::vector<Bytes> load;         // by timing, before swap-ins are issued
  std::vector<std::int32_t> came;  // by map: the timing since which it is there until its last use; -1: always
  std::vector<Passing> passing;
  std::int64_t visits = 0;  // in the end
  // By forward op, and by timing: how long compute waited, and how far the lane was behind compute when it was given
  // something (kNever: nothing; -1: the last one, of which no trace is left).
  std::vector<Nanos> forward_wait, forward_slack, backward_wait, backward_slack;
  std::vector<Nanos> forward_room, backward_room;  // the slack where compute did not wait, else -1
};

// One simulation: the forward walk, what each timing brings back and holds, when swap-ins are issued, backward's times.
class PoochModel::Run {
 public:
  Run(const PoochProfile& profile, std::span<const MapClass> classes, const SimulationOptions& options,
      SimulationScratch& scratch, RunTrace* trace = nullptr)
      : p_(profile), classes_(classes), options_(options), s_(scratch), trace_(trace) {}

  Simulation Go() {
    Reset();
    if (!Forward()) return result_;
    if (!WalkTimings()) return result_;
    result_.feasible = result_.needed == 0;
    if (!options_.times) return result_;
    IssueSwapIns(p_, options_.rule, s_);
    Backward();
    if (trace_ != nullptr) trace_->visits = visits_;
    return result_;
  }

  // ---- From a place of a run that was traced, with the class of one swapped map changed (pooch_alternatives.h).

  // With copies of `options.instant` that take no time, or without the swap-out `left_out` (-1: none): the forward pass,
  // from the op after which its map leaves. Leaves s_.pending as it comes.
  Nanos ForwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from, std::int32_t left_out,
                     Nanos whole);
  // Backward, from the timing at which its copy back, `instant` of the swap-ins, is issued, or it is copied in passing.
  Nanos BackwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from, std::int32_t calm,
                      std::size_t instant, Nanos whole);
  // With classes in which `map`, swapped in the trace, is recomputed: the walk, from the timing that asks for it first.
  // `last_timing`: of the profile's maps. `end`: gets the timing from which on it is the trace's.
  Simulation WalkAgain(const RunTrace& base, const SimulationScratch& of, std::span<const std::int32_t> last_timing,
                       std::int32_t map, std::int32_t* end);
  // Behind WalkAgain of timings [begin, end): backward, as long as `whole` in the trace.
  Nanos BackwardOfWalk(const RunTrace& base, const SimulationScratch& of, std::int32_t begin, std::int32_t end,
                       Nanos whole);

 private:
  bool IsDecidable(std::int32_t value) const {
    return value < Count(p_.maps.size()) && p_.maps[Index(value)].Decidable();
  }
  bool IsCopiedIn(std::int32_t value) const {
    if (value >= Count(p_.maps.size())) return false;
    return p_.maps[Index(value)].on_host ||
           (p_.maps[Index(value)].Decidable() && classes_[Index(value)] == MapClass::kSwap);
  }
  bool IsEndless() const { return visits_ > kRecomputeLimit * static_cast<std::int64_t>(p_.writers.size()); }
  Nanos OutTime(std::int32_t map) const { return map == options_.instant ? 0 : p_.maps[Index(map)].out_time; }
  Nanos InTime(std::int32_t map) const { return map == options_.instant ? 0 : p_.maps[Index(map)].in_time; }

  void Reset() {
    result_.total = kNever;
    s_.swap_ins.clear();
    s_.pending.clear();
    std::fill(s_.out_wait.begin(), s_.out_wait.end(), 0);
    std::fill(s_.in_wait.begin(), s_.in_wait.end(), 0);
  }

  bool Fits(Bytes bytes, OpId op) {
    result_.peak = std::max(result_.peak, bytes);
    if (bytes <= p_.capacity) return true;
    if (result_.needed == 0) {
      result_.worst_op = op;
      result_.needed = bytes;
    }
    return !options_.enforce_capacity;
  }

  void Touch(std::int32_t value, std::int32_t timing) {
    if (trace_ == nullptr || value >= Count(p_.maps.size())) return;
    RunTrace::MapTrace& map = trace_->maps[Index(value)];
    if (map.first < 0) map.first = timing;
    map.last = timing;
  }
  RunTrace::Forward ForwardState() const { return {compute_, lane_, live_, oldest_, s_.pending.size()}; }
  std::size_t SkipForward(const RunTrace& base, const SimulationScratch& of, std::size_t op, std::size_t& gone);
  std::int32_t SkipBackward(const RunTrace& base, const SimulationScratch& of, std::int32_t k, std::size_t& changed);
  void CompleteWalk(const RunTrace& base, const SimulationScratch& of, std::int32_t begin, std::int32_t end);
  void IssueWithout(const SimulationScratch& of, std::size_t instant);
  void RestoreSwapIns(const SimulationScratch& of, std::size_t begin, std::size_t end);

  bool Forward();
  bool StepForward(const PoochProfile::ForwardOp& op);
  void EndForward();
  bool HasPending() const { return oldest_ < s_.pending.size(); }
  Nanos EndOldest();
  void Leave(std::int32_t map);
  void StartWalk();
  bool WalkTimings();
  bool WalkTiming(std::int32_t timing);
  void End(std::int32_t map);
  bool Stays(std::int32_t value, std::int32_t timing) const;
  void Fetch(std::int32_t value, std::int32_t timing);
  void BringSources(std::int32_t value, std::int32_t timing);
  void BringBack(std::int32_t value, std::int32_t timing);
  void SwapIn(std::int32_t map, std::int32_t timing);
  void Recompute(std::int32_t value, std::int32_t timing);
  void RunAgain(const PoochProfile::Writer& writer, std::int32_t value, bool first, std::int32_t timing);
  void Backward();
  void StepBackward(std::int32_t k);

  const PoochProfile& p_;
  std::span<const MapClass> classes_;
  const SimulationOptions& options_;
  SimulationScratch& s_;
  RunTrace* const trace_;
  Simulation result_;
  Nanos compute_ = 0, lane_ = 0;
  Bytes live_ = 0;          // backward: of maps, and of transients being recomputed
  Bytes spike_ = 0;         // most of `live_` plus workspace in the recomputation of the timing being walked
  std::size_t oldest_ = 0;  // of s_.pending
  std::size_t issued_ = 0, arrived_ = 0;  // of s_.swap_ins
  std::int64_t visits_ = 0;               // of forward ops to be run again
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_RUN_H_
