// A step as decisions on its gaps and ops see it: how long it takes and how far beyond the memory it is, some 200,000
// times a second. What a search asks before it asks the full path.
//
// It carries out what `lower` would: what an op finds away is copied in or computed again with all that this takes;
// copies in are issued as early as there is room, and not before the way out has ended; a copy out holds its memory
// until it ends. Kernels beside copies and copies in both directions are slower, as the engine has it. Left out are
// addresses, what the host takes, and which of two copies under way ends first.
//
// It walks the step once for what is where (gap_walk.h), and once more by the clock (gap_clock.h), but for what cannot
// be worth it.
//
// An op whose workspace finds no room, the first time or again, runs in the fastest way that does. Memory that does not
// suffice even so is no end: the excess is told, so that a search may pass through what does not fit.
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

// By row of GapTables::gaps, and by op: a row of its ways, counted from its first.
struct GapChoices {
  std::vector<GapWay> gaps;
  std::vector<std::uint8_t> ops;
  bool operator==(const GapChoices&) const = default;
};

constexpr Nanos kEndless = std::numeric_limits<Nanos>::max() / 4;

struct GapJudgement {
  Nanos time = 0;    // of the step; kEndless: more runs again than kRecomputeLimit times all forward ops
  Bytes excess = 0;  // most bytes beyond the capacity; 0: it fits
  bool Fits() const { return excess == 0 && time < kEndless; }
};

// What a judgement is asked for: where more than `cost` is sure, a byte beyond the capacity counted at `price`, and
// either it does not fit or at least `time` is sure as well, the clock stops, and the time that is told is what was
// sure then.
struct WorthTiming {
  double cost = std::numeric_limits<double>::infinity();
  double price = 0;
  Nanos time = 0;
};

// One for each thread. Tables must outlive it.
class GapModel {
 public:
  GapModel(const GapTables& tables, const Runtime& runtime, Bytes capacity);

  const GapTables& tables() const { return tables_; }
  Bytes capacity() const { return capacity_; }
  std::int64_t judgements() const { return judgements_; }

  // REQUIRES: choices of the tables, no way that a gap does not have. No allocation but the first time.
  GapJudgement Judge(const GapChoices& choices, const WorthTiming& worth = {});

  // The same choices, with the ways in which ops run that find no room for theirs; judged.
  GapChoices Settled(GapChoices choices);

  // Of what was judged last.
  using CopyIn = GapWalked::CopyIn;
  const std::vector<CopyIn>& copies_in() const { return walk_.walked().copies_in; }
  // Ops that run again in a way of their own, and which; of an op the last one counts.
  const std::vector<std::pair<OpId, std::uint8_t>>& leaner_again() const { return walk_.walked().leaner_again; }
  // The last op before which the copy could be issued without starting later.
  OpId LatestIssue(const CopyIn& copy) const;
  // Of a gap that is swapped: the op before which the copy out has ended, or is waited for.
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
