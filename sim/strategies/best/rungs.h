// The capacities that searches of `best` are made for: the same ones whatever the capacity that there is, on two ladders
// (pooch/ladder.h). What lies between two rungs of the fine one has the same plans.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_RUNGS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_RUNGS_H_

#include <map>
#include <vector>

#include "sim/strategies/best/effort.h"
#include "sim/strategies/best/found_plans.h"

namespace spillway {

class Rungs {
 public:
  explicit Rungs(const Problem& problem);

  // Addresses take some bytes more than are live, depending on the plan: then it is planned for less memory, too. Where
  // they do not, there is one rung, whatever `k`.
  bool AddressesMatter() const { return addresses_; }
  // The k-th one from the highest down, bytes: by 1 to 1.6 % and by 3 to 6 % of the memory below the one before.
  Bytes Fine(int k) const;
  Bytes Coarse(int k) const;

 private:
  Bytes Rung(int k, int bits) const;

  Bytes capacity_;
  bool addresses_;
};

// Every op whole, by the rung alone: so whatever the capacity, what is found there is the same.
class SharedSpaces {
 public:
  // All must outlive it.
  SharedSpaces(const Problem& problem, const StepFacts& facts, const Allowed& allowed)
      : problem_(problem), facts_(facts), allowed_(allowed) {}
  const SearchSpace& On(Bytes rung);

 private:
  const Problem& problem_;
  const StepFacts& facts_;
  const Allowed& allowed_;
  std::map<Bytes, SearchSpace> spaces_;
};

// Tensors up to so many bytes stay, on that rung.
Bytes SmallOn(Bytes rung);

// What is searched over `space`, in order, on rungs of at least `need` bytes. `shared`: the spaces of the coarse ladder, over
// which it begins where there is one; nullptr: it does not.
std::vector<SearchOrder> OrdersOver(const SearchSpace& space, const Rungs& rungs, Bytes need, const Effort& effort,
                                    bool insist, SharedSpaces* shared);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_RUNGS_H_
