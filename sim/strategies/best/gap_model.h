// A fast model of a step: from decisions on gaps and ops to the step's time and its excess over the memory, some
// 200,000 times a second. A search asks this model first, and the full path (lower, lay out, simulate) only for good
// candidates.
//
// The model does what `lower` does. A tensor that an op needs and that is off the device is swapped in, or recomputed
// with everything that the recomputation needs. A swap-in is issued as early as there is room, but not before the
// tensor's swap-out has ended. A swap-out holds its memory until it ends. Kernels slow down while copies run, and
// copies while the other direction runs, by the engine's factors. The model leaves out addresses, the host's time, and
// which of two running copies ends first.
//
// Each judgement walks the step once for the tensors on the device (gap_walk.h), then once for the times (gap_clock.h).
// The second walk is skipped where its result cannot matter (WorthTiming).
//
// An op whose workspace finds no room runs in the fastest way that fits, in forward, backward and recomputation. If no
// way fits, the judgement tells the excess and goes on, so that a search may pass through choices that do not fit.
//
// Example: with a capacity of 12 GiB, a judgement {time 95 ms, excess 0} fits; {time 80 ms, excess 512 MiB} needs 12.5
// GiB at one op and does not.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_MODEL_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_MODEL_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/bounds/cut_bound.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/best/gap_clock.h"

namespace spillway {

// One choice of everything that can be decided. `gaps` has one entry for each row of GapTables::gaps. `ops` has one
// entry for each op: the index of a way among the op's own ways; 0 is the usual way.
struct GapChoices {
  std::vector<GapWay> gaps;
  std::vector<std::uint8_t> ops;
  bool operator==(const GapChoices&) const = default;
};

constexpr Nanos kEndless = std::numeric_limits<Nanos>::max() / 4;

struct GapJudgement {
  Nanos time = 0;    // of the step; kEndless: recomputation runs more ops than kRecomputeLimit times all forward ops
  Bytes excess = 0;  // the most bytes beyond the capacity at any op; 0: the step fits
  bool Fits() const { return excess == 0 && time < kEndless; }
};

// When a judgement may stop early. The cost of a choice is time + price x excess (nanoseconds; `price` per byte). The
// clock stops once the cost is sure to exceed `cost`, provided that the step does not fit or is also sure to take
// longer than `time`. The judgement then tells the time that was sure by then, a lower bound on the step's time.
struct WorthTiming {
  double cost = std::numeric_limits<double>::infinity();
  double price = 0;
  Nanos time = 0;
};

// Refers to `tables`, which must outlive it. One per thread: a judgement changes the model.
class GapModel {
 public:
  GapModel(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  const GapTables& tables() const { return tables_; }
  Bytes capacity() const { return capacity_; }
  std::int64_t judgements() const { return judgements_; }

  // REQUIRES: `choices` has the shape of the tables and gives each gap only ways that it has (Gap::may_swap,
  // may_recompute). Allocates memory in the first call only.
  GapJudgement Judge(const GapChoices& choices, const WorthTiming& worth = {});

  // Judges `choices` and returns them with the ways in which ops really run: a leaner one where the chosen one finds no
  // room.
  GapChoices Settled(GapChoices choices);

  // ---- Details of the last judgement. Times of copies are complete only if it did not stop early.
  using CopyIn = GapWalked::CopyIn;
  const std::vector<CopyIn>& copies_in() const { return walk_.walked().copies_in; }
  // Each recomputation, in the order in which they run, with its way (index among GapTables::Op::again).
  const std::vector<std::pair<OpId, std::uint8_t>>& again() const { return walk_.walked().again; }
  // The latest op before which the copy can be issued and still start at copy.start.
  OpId LatestIssue(const CopyIn& copy) const;
  // The op before which the memory of a swapped gap is free: an op that waited for the swap-out, or else the op after
  // Gap::after.
  OpId LeavesBefore(std::int32_t gap) const;

 private:
  const GapTables& tables_;
  const Bytes capacity_;
  OpWays ops_;
  GapWalk walk_;
  GapClock clock_;
  std::int64_t judgements_ = 0;
};

// ---- From plans to choices, and back.

// All kept that may be, all ops as usual.
GapChoices AllKept(const GapTables& tables);

// `model` judges them once more, for the moments of copies: each back as late as it could begin without being later.
Plan PlanOf(const Problem& problem, GapModel& model, const GapChoices& unsettled, const std::string& reason);

// What `plan` decides of the gaps that there are, and of ops that run whole; what else it decides is left out. Of a way
// that the tables do not have the fastest one that takes no more workspace.
GapChoices ChoicesOf(const GapTables& tables, const Plan& plan);

// What the best choice at one instant copies and recomputes (sim/bounds/cut_bound.h), ops as in `kept`, which keeps all.
GapChoices ChoicesOf(const GapTables& tables, const CutBound& cut, const GapChoices& kept);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_MODEL_H_
