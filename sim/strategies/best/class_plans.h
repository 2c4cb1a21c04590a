// Classes of maps and plans, there and back: what is decided of maps between forward and backward, with the schedule of
// swap-ins that PoocH's timeline model gives it.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_CLASS_PLANS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_CLASS_PLANS_H_

#include <string>
#include <vector>

#include "sim/bounds/cut_bound.h"
#include "sim/strategies/best/contest.h"
#include "sim/strategies/pooch/search.h"
#include "sim/strategy.h"

namespace spillway {

// How the classes are seen: what runs, in how much memory, and what becomes of maps recomputed on the way to another one.
struct ClassView {
  std::vector<OpDecision> ops;  // by op, none in parts
  Bytes capacity = 0;           // to plan with
  bool keep_passed = true;
};

class ClassPlans {
 public:
  ClassPlans(const Problem& problem, ClassView view);
  ClassPlans(const ClassPlans&) = delete;
  ClassPlans& operator=(const ClassPlans&) = delete;

  Search& search() { return search_; }
  const PoochProfile& profile() const { return model_.profile(); }
  const ClassView& view() const { return view_; }

  // REQUIRES: the classes fit in the model.
  Plan PlanOf(const Classes& classes, const std::string& reason);
  // What `plan` decides of maps between forward and backward; other gaps are left out.
  Classes ClassesOf(const Plan& plan) const;
  // What the best choice at one instant copies and recomputes (sim/bounds/cut_bound.h).
  Classes ClassesOf(const CutBound& cut) const;
  // What map `m` may be.
  std::vector<MapClass> WaysOf(std::size_t m, const Allowed& allowed) const;
  // Swaps (or recomputes) kept maps, the earliest first, until the classes fit; where they never do, recomputes them anew
  // for each use. False: neither does.
  bool MakeFit(const Allowed& allowed, Classes& classes);

 private:
  const Problem& problem_;
  ClassView view_;
  PoochModel model_;
  Search search_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_CLASS_PLANS_H_
