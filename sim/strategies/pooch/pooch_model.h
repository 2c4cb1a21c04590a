// PoocH's timeline model: the time and memory of a step under a classification of its maps, on two clocks (paper
// sections 4.1.2 and 4.3; the published code's simulation of forward and backward).
//
// Forward. The compute clock walks the ops, the swap clock the swap-outs, one after the other in one lane:
//
//   compute  |--a--|--b--|stall|--c--|        c needs memory that the swap-out of A still holds: it waits, and A is
//   swap           |----A-----|---B---|       not hidden. A swap-out that runs when the last forward op ends is not
//                                             hidden either; backward starts when all copies are done.
//
// Backward. Before each timing (the backward ops of one layer or break point) swap-ins are issued, in order of need,
// into the same lane. A timing starts when all maps that it needs have arrived. SwapInRule decides when each swap-in is
// issued.
//
// A map is recomputed in a timing, before the timing's first backward op. The recomputation runs the forward ops that
// write the map, and those that write their missing operands, back to tensors on the device. Missing maps come before
// missing transients of the same op. Maps made on the way stay until their last use, or are freed and recomputed for it
// (the published code; SimulationOptions::keep_passed). Transients are freed after the op that needed them. A swapped
// map that the recomputation needs is swapped in for that timing, and stays.
//
// `lower` implements the same recomputation on the step itself, once for a plan; this model works on tables, 100,000
// times a second. tests/sim/pooch_recompute_test.cc compares them: in each timing the same forward ops run again in the
// same order, and both give up at kRecomputeLimit. They differ on purpose:
//  - This model knows only classifications: gaps between forward and backward, and results that stay. It knows neither
//    schedule entries (Plan::recompute) nor other gaps.
//  - The copy of a map for one recomputation counts as recomputation time here, as in the publications; in the Program
//    it is a copy.
//  - An op with two results runs again for each of them here. No layer emits such an op.
//
// Where the publications leave room, this model does the following.
//  - A forward op's memory is allocated before it runs (the code adds its time first, and so sees a stall too late).
//  - A swap-out at whose end nobody waited counts as hidden even if the code's bookkeeping would find it pending.
//  - The first timing waits for its swap-ins like every other one (the code lets it start at once).
//  - A map is freed right after the last op that uses it. A recomputation that needs it later still brings it back in
//    passing: it is copied in, compute waiting, if it is swapped, and recomputed otherwise.
//  - The network input lies on the host already: class swap drops it after its last forward use and copies it in.
//  - Its upload at the start of the step is part of the time.
// Fragmentation is ignored, as in the original, whose pool compacts itself. Bytes are counted as `lower` allocates and
// frees them, so that a feasible simulation is a Program that does not run out of a pool
// (tests/sim/pooch_memory_test.cc).
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_MODEL_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_MODEL_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/strategies/pooch/pooch_profile.h"

namespace spillway {

enum class MapClass : std::uint8_t {
  kKeep,
  kSwap,
  kRecompute,
  kRecomputeAnew,  // as kRecompute, but freed after the recomputation of another map made it on its way
  // Takes no memory after the last forward use, no copies and no time. Searches give this class to undecided maps as a
  // lower bound: no real class makes the step faster.
  kFree,
};
using Classes = std::vector<MapClass>;  // by map

enum class SwapInRule : std::uint8_t {
  // One timing before the need if memory suffices, else when needed: swapping without scheduling.
  kOneAhead,
  // In order of need, each at the earliest timing from which there is room until the need (paper section 4.3).
  kWhenRoom,
  // As the published code: at a timing, as many swap-ins as fit; the next burst not before the last timing served.
  kBursts,
  // At the start of the nearest earlier timing with a convolution, even without memory (SuperNeurons as PoocH models
  // it).
  kPreviousConvolution,
};

struct RanAgain {
  std::int32_t timing = 0;  // the timing in which the op runs again
  OpId op = kNoOp;          // the forward op
  bool operator==(const RanAgain&) const = default;
};

struct SimulationOptions {
  SwapInRule rule = SwapInRule::kWhenRoom;
  std::int32_t instant = -1;     // a swapped map whose copies take no time, with memory as if swapped; -1 = none
  bool enforce_capacity = true;  // false: the simulation goes on when memory does not suffice
  // false: maps that a recomputation makes on its way are freed. With joins in a row this can take time exponential in
  // their number. So a simulation that recomputes more ops than kRecomputeLimit times all forward ops gives up.
  bool keep_passed = true;
  bool times = true;  // false: tells only if it fits; swap-ins are not issued, and backward has no times
  std::vector<RanAgain>* ran_again = nullptr;  // if given, recomputed ops are appended in order
};

struct Simulation {
  bool feasible = false;
  Nanos forward = 0;           // until all swap-outs are done
  bool endless = false;        // given up at kRecomputeLimit
  Nanos total = 0;             // the step; kNever if given up, or infeasible and capacity is enforced
  Nanos backward_compute = 0;  // backward ops and recomputation, without stalls
  Bytes peak = 0;              // most bytes of the profile's tables live at once, without swap-ins ahead of need
  OpId worst_op = kNoOp;       // infeasible: where memory did not suffice first ...
  Bytes needed = 0;            // ... and how much would have (again without persistent bytes)
};
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

// Working memory that simulations reuse, with details of the last simulation. One per thread; made by
// PoochModel::MakeScratch.
struct SimulationScratch {
  // The last simulation's swap-ins in order of issue (valid if it was feasible).
  struct SwapIn {
    std::int32_t map = 0;
    std::int32_t need = 0;     // timing
    std::int32_t issue = 0;    // timing at whose start it is issued, <= need
    Nanos start = 0, end = 0;  // on the swap lane, from the start of backward
  };
  std::vector<SwapIn> swap_ins;
  std::vector<Nanos> out_wait;      // by map: how long compute, or the end of forward, waited for its swap-out
  std::vector<Nanos> in_wait;       // by map: how long its timing waited for its swap-in
  std::vector<Nanos> timing_clock;  // by timing: when swap-ins are issued for it, from the start of backward

  // Working memory.
  struct Pending {
    std::int32_t map;
    Nanos end;
  };
  std::vector<Pending> pending;
  std::vector<std::uint8_t> available;  // by value: on the device at the point the walk has reached
  std::vector<std::int32_t> passing;    // values computed for the writers being run
  std::vector<Bytes> load;              // by timing: peak with every swap-in issued when needed; later on, that less
                                        // the bytes swapped in up to then
  std::vector<Nanos> recompute;         // by timing: time of recomputation
  std::vector<std::int32_t> stack;      // kWhenRoom: timings with loads not exceeded later
};

class PoochModel {
 public:
  explicit PoochModel(PoochProfile profile) : profile_(std::move(profile)) {}
  const PoochProfile& profile() const { return profile_; }
  std::int32_t maps() const { return static_cast<std::int32_t>(profile_.maps.size()); }
  SimulationScratch MakeScratch() const;

  // REQUIRES: classes.size() == maps(), the input is not in class recompute. The class of undecidable maps is ignored.
  // No allocation.
  Simulation Simulate(std::span<const MapClass> classes, const SimulationOptions& options,
                      SimulationScratch& scratch) const;

  class Run;  // internal: pooch_run.h

 private:
  PoochProfile profile_;
};

// ---- When swap-ins are issued: the rules of SwapInRule, and PoocH's last step.

// Sets `issue` of every swap-in in `scratch`, which holds them in order of need, from `scratch.load`, which is used up.
// In time linear in timings and swap-ins (kWhenRoom: a logarithm more).
void IssueSwapIns(const PoochProfile& profile, SwapInRule rule, SimulationScratch& scratch);

// Moves swap-ins of the last simulation to the latest timing at which issuing them changes no copy's time, which
// holds their memory for shorter (the code's last step).
void DelaySwapIns(SimulationScratch& scratch);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_POOCH_MODEL_H_
