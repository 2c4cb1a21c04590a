#include "sim/strategies/best/class_plans.h"

#include <utility>

#include "hw/text/lists.h"
#include "sim/strategies/classify.h"

namespace spillway {

namespace {

PoochProfile ProfileOf(const Problem& problem, const ClassView& view) {
  const BackwardUnits units = problem.use_runtime ? problem.runtime.backward_units : BackwardUnits::kLayers;
  return ProfileStep(*problem.step, *problem.costs, view.capacity, problem.device, units, view.ops);
}

}  // namespace

ClassPlans::ClassPlans(const Problem& problem, ClassView view)
    : problem_(problem),
      view_(std::move(view)),
      model_(ProfileOf(problem, view_)),
      search_(model_, SwapInRule::kWhenRoom) {
  search_.keep_passed = view_.keep_passed;
}

Plan ClassPlans::PlanOf(const Classes& classes, const std::string& reason) {
  Plan plan = StartPlan(problem_, "best", "arena");
  plan.ops = view_.ops;
  plan.capacity = view_.capacity;
  std::vector<std::string> notes(classes.size());
  for (std::size_t m = 0; m < classes.size(); ++m) {
    if (classes[m] == MapClass::kRecompute || classes[m] == MapClass::kRecomputeAnew) notes[m] = reason;
  }
  search_.Simulate(classes);
  DelaySwapIns(search_.scratch);
  AddDecisions(search_, classes, notes, plan);
  return plan;
}

Classes ClassPlans::ClassesOf(const Plan& plan) const {
  const std::vector<PoochProfile::Map>& maps = profile().maps;
  Classes classes(maps.size(), MapClass::kKeep);
  for (const GapDecision& gap : plan.gaps) {
    for (std::size_t m = 0; m < maps.size(); ++m) {
      const PoochProfile::Map& map = maps[m];
      if (map.tensor != gap.tensor || map.first_backward_op != gap.before) continue;
      const bool anew = view_.keep_passed && !gap.keep_passed;
      classes[m] = gap.action == GapAction::kSwap ? MapClass::kSwap
                   : anew                         ? MapClass::kRecomputeAnew
                                                  : MapClass::kRecompute;
    }
  }
  return classes;
}

Classes ClassPlans::ClassesOf(const CutBound& cut) const {
  Classes classes;
  for (const PoochProfile::Map& map : profile().maps) {
    const bool again = map.Recomputable() && Contains(cut.recomputed, map.tensor);
    const bool copied = map.Decidable() && Contains(cut.copied, map.tensor);
    classes.push_back(again ? MapClass::kRecompute : copied ? MapClass::kSwap : MapClass::kKeep);
  }
  return classes;
}

std::vector<MapClass> ClassPlans::WaysOf(std::size_t m, const Allowed& allowed) const {
  const PoochProfile::Map& map = profile().maps[m];
  std::vector<MapClass> ways{MapClass::kKeep};
  if (!map.Decidable()) return ways;
  if (allowed.swap) ways.push_back(MapClass::kSwap);
  if (allowed.recompute && map.Recomputable()) {
    ways.push_back(MapClass::kRecompute);
    if (view_.keep_passed) ways.push_back(MapClass::kRecomputeAnew);
  }
  return ways;
}

bool ClassPlans::MakeFit(const Allowed& allowed, Classes& classes) {
  if (search_.Fits(classes)) return true;
  const Classes start = classes;
  const auto move_away = [&](bool anew) {
    bool fits = false;
    for (std::size_t m = 0; m < classes.size() && !fits; ++m) {
      const std::vector<MapClass> ways = WaysOf(m, allowed);
      if (ways.size() == 1 || classes[m] == MapClass::kSwap) continue;
      const MapClass way = anew ? ways.back() : ways[1];
      if (classes[m] == way || (!anew && classes[m] != MapClass::kKeep)) continue;
      classes[m] = way;
      fits = search_.Fits(classes);
    }
    return fits;
  };
  if (move_away(false)) return true;
  classes = start;
  return move_away(true);
}

}  // namespace spillway
