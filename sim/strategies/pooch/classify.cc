#include <fmt/format.h>

#include <cassert>
#include <cstddef>

#include "sim/strategies/pooch/search.h"

namespace spillway {
namespace {

std::string WithNote(std::string reason, const std::vector<std::string>& notes, std::size_t map) {
  if (notes.empty() || notes[map].empty()) return reason;
  return reason + (reason.empty() ? "" : "; ") + notes[map];
}

std::string SwapReason(const PoochProfile::Map& map, Nanos out_wait, Nanos in_wait) {
  if (map.on_host) {
    return in_wait > 0 ? fmt::format("on the host anyway; waits {} for its swap-in", FormatDuration(in_wait))
                       : "on the host anyway; its swap-in is hidden";
  }
  if (out_wait > 0 && in_wait > 0) {
    return fmt::format("waits {} for its swap-out, {} for its swap-in", FormatDuration(out_wait),
                       FormatDuration(in_wait));
  }
  if (out_wait > 0) return fmt::format("waits {} for its swap-out", FormatDuration(out_wait));
  if (in_wait > 0) return fmt::format("waits {} for its swap-in", FormatDuration(in_wait));
  return "hidden: both copies overlap compute";
}

GapDecision GapOf(const PoochProfile::Map& map, GapAction action) {
  GapDecision gap;
  gap.tensor = map.tensor;
  gap.after = map.last_forward_op;
  gap.before = map.first_backward_op;
  gap.action = action;
  return gap;
}

}  // namespace

void AddDecisions(const Search& search, const Classes& classes, const std::vector<std::string>& notes, Plan& plan) {
  const PoochProfile& profile = search.model->profile();
  const SimulationScratch& scratch = search.scratch;
  for (const SimulationScratch::SwapIn& swap_in : scratch.swap_ins) {
    const PoochProfile::Map& map = profile.maps[Index(swap_in.map)];
    assert(classes[Index(swap_in.map)] == MapClass::kSwap);
    GapDecision gap = GapOf(map, GapAction::kSwap);
    gap.out_after = gap.after;
    gap.in_at = profile.timings[Index(swap_in.issue)].first_op;
    gap.reason = WithNote(SwapReason(map, scratch.out_wait[Index(swap_in.map)], scratch.in_wait[Index(swap_in.map)]),
                          notes, Index(swap_in.map));
    plan.gaps.push_back(std::move(gap));
  }
  for (std::size_t m = 0; m < classes.size(); ++m) {
    const bool anew = classes[m] == MapClass::kRecomputeAnew;
    if ((classes[m] != MapClass::kRecompute && !anew) || !profile.maps[m].Decidable()) continue;
    GapDecision gap = GapOf(profile.maps[m], GapAction::kRecompute);
    gap.keep_passed = search.keep_passed && !anew;
    gap.reason = WithNote("", notes, m);
    plan.gaps.push_back(std::move(gap));
  }
}

PoochModel MakeModel(const Problem& problem) {
  return PoochModel(ProfileStep(*problem.step, *problem.costs, problem.capacity, problem.device, problem.Units()));
}

Planned DoesNotFit(const Problem& problem, const PoochProfile& profile, const Simulation& simulation) {
  Planned planned;
  const auto [needed, usable] = FormatBytesApart(simulation.needed + profile.persistent, problem.capacity);
  planned.reason = fmt::format("out_of_memory: needs {} as early as op {} with every map swapped, {} are usable",
                               needed, problem.step->ops[Index(simulation.worst_op)].name, usable);
  return planned;
}

}  // namespace spillway
