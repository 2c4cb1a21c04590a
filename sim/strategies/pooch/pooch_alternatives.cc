#include "sim/strategies/pooch/pooch_alternatives.h"

#include <algorithm>
#include <limits>

namespace spillway {

namespace {

constexpr std::int32_t kNeverCame = std::numeric_limits<std::int32_t>::max();

}  // namespace

SwapAlternatives::SwapAlternatives(Search& search)
    : search_(search),
      profile_(search.model->profile()),
      options_{.rule = search.rule, .keep_passed = search.keep_passed},
      leaves_(profile_.maps.size(), -1),
      of_base_(search.model->MakeScratch()),
      walk_(search.model->MakeScratch()) {
  for (const PoochProfile::Map& map : profile_.maps) last_timing_.push_back(map.last_timing);
  for (std::size_t op = 0; op < profile_.forward.size(); ++op) {
    for (std::int32_t i = profile_.forward[op].maps_begin; i < profile_.forward[op].maps_end; ++i) {
      leaves_[Index(profile_.leaving[Index(i)])] = static_cast<std::int32_t>(op);
    }
  }
}

const Simulation& SwapAlternatives::SetOut(const Classes& classes) {
  ++search_.simulations;
  classes_ = classes;
  trace_.forward.clear();
  trace_.walk.clear();
  trace_.backward.clear();
  trace_.passing.clear();
  trace_.load.clear();
  trace_.maps.assign(profile_.maps.size(), {});
  trace_.came.assign(profile_.maps.size(), kNeverCame);
  for (std::size_t m = 0; m < classes.size(); ++m) {
    if (classes[m] == MapClass::kKeep && profile_.maps[m].Decidable()) trace_.came[m] = -1;
  }
  base_ = PoochModel::Run(profile_, classes_, options_, of_base_, &trace_).Go();
  const auto place = [&](const auto& copies, std::vector<std::int32_t>& by_map) {
    by_map.assign(profile_.maps.size(), -1);
    for (std::size_t k = 0; k < copies.size(); ++k) by_map[Index(copies[k].map)] = static_cast<std::int32_t>(k);
  };
  place(of_base_.swap_ins, swap_in_);
  place(of_base_.pending, swap_out_);
  clocks_ = of_base_;
  if (base_.feasible) FindSlack();
  return base_;
}

void SwapAlternatives::FindSlack() {
  const std::size_t ops = profile_.forward.size(), timings = profile_.timings.size();
  trace_.forward_wait.assign(ops, 0), trace_.backward_wait.assign(timings, 0);
  trace_.forward_slack.assign(ops, -1), trace_.backward_slack.assign(timings, -1);
  trace_.forward_room.assign(ops, -1), trace_.backward_room.assign(timings, -1);
  for (std::size_t op = 0; op + 1 < ops; ++op) {
    const RunTrace::Forward &now = trace_.forward[op], &next = trace_.forward[op + 1];
    trace_.forward_wait[op] = next.compute - now.compute - profile_.forward[op].time;
    trace_.forward_slack[op] = next.pending > now.pending ? now.lane - next.compute : kNever;
    if (trace_.forward_wait[op] == 0) trace_.forward_room[op] = trace_.forward_slack[op];
  }
  for (std::size_t k = 0; k + 1 < timings; ++k) {
    const RunTrace::Backward &now = trace_.backward[k], &next = trace_.backward[k + 1];
    trace_.backward_wait[k] = next.compute - now.compute - profile_.timings[k].time - of_base_.recompute[k];
    trace_.backward_slack[k] = next.issued > now.issued ? now.lane - now.compute : kNever;
    if (trace_.backward_wait[k] == 0) trace_.backward_room[k] = trace_.backward_slack[k];
  }
}

Simulation SwapAlternatives::Instant(std::int32_t map) {
  ++search_.simulations;
  SimulationOptions options = options_;
  options.instant = map;
  Simulation now = base_;
  const std::size_t swap_in = Index(swap_in_[Index(map)]);
  std::int32_t from = of_base_.swap_ins[swap_in].issue, calm = -1;
  for (const RunTrace::Passing& copy : trace_.passing) {
    if (copy.map != map) continue;
    clocks_.recompute[Index(copy.timing)] -= profile_.maps[Index(map)].in_time;
    now.backward_compute -= profile_.maps[Index(map)].in_time;
    from = std::min(from, copy.timing);
    calm = std::max(calm, copy.timing);
  }
  PoochModel::Run forward(profile_, classes_, options, clocks_), backward(profile_, classes_, options, clocks_);
  now.forward = forward.ForwardAgain(trace_, of_base_, leaves_[Index(map)], -1, base_.forward);
  now.total = now.forward + backward.BackwardAgain(trace_, of_base_, from, calm, swap_in, base_.total - base_.forward);
  for (const RunTrace::Passing& copy : trace_.passing) {
    clocks_.recompute[Index(copy.timing)] = of_base_.recompute[Index(copy.timing)];
  }
  return now;
}

Simulation SwapAlternatives::Recomputed(std::int32_t map) {
  ++search_.simulations;
  classes_[Index(map)] = MapClass::kRecompute;
  std::int32_t end = 0;
  Simulation now =
      PoochModel::Run(profile_, classes_, options_, walk_).WalkAgain(trace_, of_base_, last_timing_, map, &end);
  classes_[Index(map)] = MapClass::kSwap;
  now.backward_compute += base_.backward_compute;
  return now;
}

Simulation SwapAlternatives::RecomputedInTime(std::int32_t map, Nanos enough) {
  ++search_.simulations;
  classes_[Index(map)] = MapClass::kRecompute;
  PoochModel::Run walk(profile_, classes_, options_, walk_), forward(profile_, classes_, options_, clocks_);
  std::int32_t end = 0;
  Simulation now = walk.WalkAgain(trace_, of_base_, last_timing_, map, &end);
  now.backward_compute += base_.backward_compute;
  now.total = kNever;
  if (now.feasible) {
    now.forward = forward.ForwardAgain(trace_, of_base_, leaves_[Index(map)], swap_out_[Index(map)], base_.forward);
  }
  if (now.feasible && now.forward + now.backward_compute < enough) {
    PoochModel::Run backward(profile_, classes_, options_, walk_);
    now.total = now.forward + backward.BackwardOfWalk(trace_, of_base_, trace_.maps[Index(map)].first, end,
                                                      base_.total - base_.forward);
  }
  classes_[Index(map)] = MapClass::kSwap;
  return now;
}

}  // namespace spillway
