// One simulation of PoocH's timeline model (pooch_model.h), and the trace that lets a later simulation start in the
// middle.
//
// The search changes the class of one map at a time. A simulation of the change starts from a recorded state of the
// traced run just before the change takes effect, and stops as soon as its state equals the traced state, shifted in
// time. The results are those of a whole simulation, to the nanosecond.
//
// "Timing": a row of PoochProfile::timings, the consecutive backward ops of one layer. "Lane": the stream of copies.
// Internal to pooch_model and pooch_alternatives.
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

// The states of one run, recorded while it ran. Times are nanoseconds on the run's clocks, sizes bytes.
//
// Example for a swapped map M that timings 4 and 7 need, with last use in timing 7: M is copied in for timing 4, so
// came[M] = 4, and M is on the device from then until the end of timing 7.
struct RunTrace {
  struct Forward {                // the state at the start of a forward op
    Nanos compute = 0, lane = 0;  // when compute, and the last swap-out given to the lane, have ended
    Bytes live = 0;
    std::size_t oldest = 0, pending = 0;  // number of swap-outs that have ended, and that have been issued
  };
  struct Walk {  // the state at the start of a timing, in the walk without clocks
    Bytes live = 0;
    std::int64_t visits = 0;  // forward ops visited for recomputation so far: bounds endless recomputation
  };
  struct Backward {  // the state at the start of a timing, with clocks
    Nanos compute = 0, lane = 0;
    std::size_t issued = 0, arrived = 0;  // number of swap-ins issued, and awaited
  };
  struct MapTrace {  // the first and last timing that asked for the map while it was off the device; -1: none
    std::int32_t first = -1, last = -1;
  };
  struct Passing {  // a swapped map that was copied in for one recomputation only, in this timing
    std::int32_t map = 0, timing = 0;
  };
  std::vector<Forward> forward;    // by forward op
  std::vector<Walk> walk;          // by timing
  std::vector<Backward> backward;  // by timing
  std::vector<MapTrace> maps;      // by map
  std::vector<Bytes> load;         // by timing: most bytes live in it, if every swap-in is issued when it is needed
  std::vector<std::int32_t> came;  // by map: the timing that brought it back until its last use; -1: kept throughout
  std::vector<Passing> passing;
  std::int64_t visits = 0;  // Walk::visits after the last timing
  // *_wait: how long compute waited, by forward op and by timing; the last entry of each is 0. *_slack: the lane's
  // clock minus the clock of compute when a copy was issued. A slack of kNever means that no copy was issued; the last
  // entry is -1.
  std::vector<Nanos> forward_wait, forward_slack, backward_wait, backward_slack;
  std::vector<Nanos> forward_room, backward_room;  // the slack where compute did not wait, else -1
};

// One simulation, in four stages: forward with clocks, the walk over timings without clocks, the moments at which
// swap-ins are issued (IssueSwapIns), backward with clocks. Owns none of its arguments. `trace`, if given, receives the
// states.
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

  // ---- Simulations from the middle of a traced run, with one swapped map changed (pooch_alternatives.h). `base` is
  // the trace, `of` the scratch of the traced run, `whole` the traced time of the same pass in nanoseconds.

  // The time of forward, simulated from op `from`, after which the map leaves. Either the copies of `options.instant`
  // take no time, or the swap-out `left_out` is missing (-1: none is). Changes s_.pending.
  Nanos ForwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from, std::int32_t left_out,
                     Nanos whole);
  // The time of backward when the copies of `options.instant` take no time. `instant` is the index of its swap-in. The
  // simulation starts at timing `from`, the first one that a copy of the map changes, and may not stop before `calm`,
  // the last timing that copies the map in passing (-1: none does).
  Nanos BackwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from, std::int32_t calm,
                      std::size_t instant, Nanos whole);
  // The walk over timings when `map`, swapped in the trace, is recomputed, from the timing that asks for the map first.
  // `last_timing` holds the last timing of each map. `*end` receives the timing from which on the walk equals the
  // trace.
  Simulation WalkAgain(const RunTrace& base, const SimulationScratch& of, std::span<const std::int32_t> last_timing,
                       std::int32_t map, std::int32_t* end);
  // The time of backward after WalkAgain walked the timings [begin, end).
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
  // SkipForward and SkipBackward jump over ops, or timings, whose end the trace already tells. `gone`: the number of
  // the trace's swap-outs that ended before the first entry of s_.pending. `changed`: the first swap-in whose times
  // differ.
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
  Bytes live_ = 0;          // in backward: bytes of maps, and of transients being recomputed
  Bytes spike_ = 0;         // most of `live_` plus workspace in the recomputation of the timing being walked
  std::size_t oldest_ = 0;  // index into s_.pending: the oldest swap-out that has not ended
  std::size_t issued_ = 0, arrived_ = 0;  // indices into s_.swap_ins: the next to be issued, the next to be awaited
  std::int64_t visits_ = 0;               // forward ops visited for recomputation
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_RUN_H_
