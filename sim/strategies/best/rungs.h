// The fixed capacities (rungs) for which `best` searches, on a fine and a coarse ladder (pooch/ladder.h explains
// ladders). Rungs do not depend on the capacity of the problem. Problems with capacities between the same two fine
// rungs get the same plans.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_RUNGS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_RUNGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/strategies/best/found_plans.h"

namespace spillway {

class Rungs {
 public:
  explicit Rungs(const Problem& problem);

  // true: addresses need some bytes more than are live, depending on the plan, so `best` plans for lower rungs as well.
  // false: there is one rung, for every `k`.
  bool AddressesMatter() const { return addresses_; }
  // The k-th rung from the highest down, in bytes. A fine rung lies 1 to 1.6 % of the memory below the rung before it,
  // a coarse rung 3 to 6 %.
  Bytes Fine(int k) const;
  Bytes Coarse(int k) const;

 private:
  Bytes Rung(int k, int bits) const;

  Bytes capacity_;
  bool addresses_;
};

// Search spaces with every op whole, made once for each rung. They depend on the rung only, so searches in them find
// the same for every capacity.
class SharedSpaces {
 public:
  // Refers to its arguments, which must outlive it.
  SharedSpaces(const Problem& problem, const StepFacts& facts, const Allowed& allowed)
      : problem_(problem), facts_(facts), allowed_(allowed) {}
  const SearchSpace& On(Bytes rung);

 private:
  const Problem& problem_;
  const StepFacts& facts_;
  const Allowed& allowed_;
  std::map<Bytes, SearchSpace> spaces_;
};

// How much a search may spend.
struct SearchBudget {
  // By the problem's parameters and caps; less in large steps, in which each judgement takes longer, and where there is
  // little to choose. `choices`: gaps and ops that have any.
  SearchBudget(const Problem& problem, std::size_t choices);

  std::int64_t judgements = 0;  // of the model, over whole ops, and as many over each other space
  std::int64_t judged = 0;      // plans, by the full path, around the best of them
  bool few_choices = false;     // so that more searches take no time
};

// Tensors up to so many bytes stay, on that rung.
Bytes SmallOn(Bytes rung);

// What is searched over `space`, in order, on rungs of at least `need` bytes. `shared`: the spaces of the coarse
// ladder, over which it begins where there is one; nullptr: it does not.
std::vector<SearchOrder> OrdersOver(const SearchSpace& space, const Rungs& rungs, Bytes need,
                                    const SearchBudget& budget, bool insist, SharedSpaces* shared);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_RUNGS_H_
