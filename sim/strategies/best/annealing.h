// Search over all that GapTables can decide, gaps and ways to run ops together: simulated annealing (Kirkpatrick, Gelatt and
// Vecchi, Science 220, 1983) on GapModel.
//
// What does not fit costs a price per byte beyond the capacity, which rises while the temperature falls, so that the search
// walks through what does not fit in the beginning and hardly ever in the end. Changes are of single gaps, of a few, of two
// that change places, of a stretch of neighbours, and of the ways of an op. Deterministic; stopped by count.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_ANNEALING_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_ANNEALING_H_

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "sim/strategies/best/contest.h"
#include "sim/strategies/best/gap_model.h"

namespace spillway {

// Another way of one gap or op.
struct Change {
  bool of_op = false;
  std::size_t row = 0;   // of GapTables::gaps or ops
  std::uint8_t way = 0;  // a GapWay, or the op's way
};
// Returns what undoes it.
Change Apply(const Change& change, GapChoices& choices);

// What may be changed: gaps with the ways that each has and a plan may use, ops with more than one.
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
  double hottest = 0.0012;  // of the time of all kernels: slower by so much is taken with 1 / e
  std::uint64_t seed = 1;
  // Where nothing fits in the end, the price of what does not is raised until something does, and all is done once more
  // from there.
  bool insist = false;
  std::stop_token stop{};  // what it finds is not wanted any more: it may return anything
};

struct Annealed {
  bool found = false;  // something fits
  GapChoices choices;  // the fastest of what fits
  Nanos time = kEndless;
  bool insisted = false;  // it is what `insist` has led to; without it nothing was found
};

// REQUIRES: `start` has ways that are there and allowed. It need not fit.
Annealed Anneal(GapModel& model, const OpenChoices& open, const GapChoices& start, const AnnealingOptions& options);

// One change after the other, again until none gains or so many judgements are spent.
void Settle(GapModel& model, const OpenChoices& open, std::int64_t judgements, Annealed& best);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_ANNEALING_H_
