// Simulated annealing over gaps and ways of ops together (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983). GapModel
// judges each choice.
//
// A choice that does not fit costs a price per byte beyond the capacity. The price rises while the temperature falls:
// the search passes through choices that do not fit at the beginning, and hardly ever at the end. A move changes one
// gap, a few gaps, two gaps that swap their ways, a stretch of neighbours, or the way of an op. Deterministic; stops
// after a number of judgements.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_ANNEALING_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_ANNEALING_H_

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "sim/strategies/best/contest.h"
#include "sim/strategies/best/gap_model.h"

namespace spillway {

// A new way for one gap or one op.
struct Change {
  bool of_op = false;
  std::size_t row = 0;   // of GapTables::gaps or ops
  std::uint8_t way = 0;  // a GapWay, or the op's way
};
// Returns the change that undoes it.
Change Apply(const Change& change, GapChoices& choices);

// The choices that a search may change: gaps, each with the ways that it has and that are allowed, and ops with several
// ways.
struct OpenChoices {
  OpenChoices(const GapTables& tables, const Allowed& allowed);
  // Every change of a single choice, in order.
  template <typename Visit>
  void ForEach(const GapChoices& choices, Visit visit) const {
    for (const Gap& gap : gaps) {
      const GapWay now = choices.gaps[gap.row];
      for (const GapWay way : gap.ways) {
        if (way != now) visit(Change{false, gap.row, static_cast<std::uint8_t>(way)});
      }
    }
    for (const Op& op : ops) {
      const std::uint8_t now = choices.ops[op.row];
      for (std::uint8_t way = 0; way < op.ways; ++way) {
        if (way != now) visit(Change{true, op.row, way});
      }
    }
  }

  struct Gap {
    std::size_t row = 0;
    std::vector<GapWay> ways;
    bool Has(GapWay way) const;
  };
  struct Op {
    std::size_t row = 0;
    std::uint8_t ways = 0;
  };
  std::vector<Gap> gaps;
  std::vector<Op> ops;
};

struct AnnealingOptions {
  std::int64_t judgements = 100'000;
  // The first temperature, as a share of the time of all kernels. A change that is slower by so much is accepted with
  // probability 1 / e.
  double hottest = 0.0012;
  std::uint64_t seed = 1;
  // true: if no choice fits at the end, raises the price per byte until one fits, and anneals once more from that
  // choice.
  bool insist = false;
  std::stop_token stop{};  // stop requested: the result is not wanted any more, and may be anything
};

struct Annealed {
  bool found = false;  // some choice fits
  GapChoices choices;  // the fastest choice that fits
  Nanos time = kEndless;
  bool insisted = false;  // the choice was found by `insist`; without it none was found
};

// REQUIRES: `start` has only ways that exist and are allowed. It need not fit.
Annealed Anneal(GapModel& model, const OpenChoices& open, const GapChoices& start, const AnnealingOptions& options);

// Local search from `best`: tries every single change, again and again, until none gains or `judgements` are spent.
void Settle(GapModel& model, const OpenChoices& open, std::int64_t judgements, Annealed& best);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_ANNEALING_H_
