#include "sim/strategies/pooch/pooch_alternatives.h"

#include <algorithm>
#include <limits>

namespace spillway {

namespace {

constexpr std::int32_t kNeverCame = std::numeric_limits<std::int32_t>::max();

// Earlier of the two clocks by how much, where the lane, idle or not, is earlier by as much; else -1.
Nanos ShiftOf(Nanos was_compute, Nanos was_lane, Nanos compute, Nanos lane) {
  const Nanos shift = was_compute - compute;
  return std::max(was_lane, was_compute) - std::max(lane, compute) == shift ? shift : -1;
}

// Whether what is on its way, rows [begin, end), ends earlier by `shift`.
template <typename Row>
bool EndEarlier(const std::vector<Row>& was, const std::vector<Row>& now, std::size_t begin, std::size_t end,
                Nanos shift) {
  for (std::size_t k = begin; k < end; ++k) {
    if (was[k].end - now[k].end != shift) return false;
  }
  return true;
}

}  // namespace

Nanos PoochModel::Run::ForwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from, Nanos whole) {
  const RunTrace::Forward& start = base.forward[Index(from)];
  compute_ = start.compute, lane_ = start.lane, live_ = start.live, oldest_ = start.oldest;
  s_.pending.resize(start.pending);
  result_.forward = -1;
  for (std::size_t op = Index(from); op < p_.forward.size() && result_.forward < 0; ++op) {
    StepForward(p_.forward[op]);
    if (op + 1 == p_.forward.size()) {
      EndForward();
      break;
    }
    const RunTrace::Forward& was = base.forward[op + 1];
    const Nanos shift = ShiftOf(was.compute, was.lane, compute_, lane_);
    if (shift < 0 || live_ != was.live || oldest_ != was.oldest || s_.pending.size() != was.pending) continue;
    if (EndEarlier(of.pending, s_.pending, oldest_, was.pending, shift)) result_.forward = whole - shift;
  }
  s_.pending.resize(start.pending);
  s_.pending.insert(s_.pending.end(), of.pending.begin() + static_cast<std::ptrdiff_t>(start.pending),
                    of.pending.end());
  return result_.forward;
}

Nanos PoochModel::Run::BackwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from,
                                     std::int32_t calm, Nanos whole) {
  const RunTrace::Backward& start = base.backward[Index(from)];
  compute_ = start.compute, lane_ = start.lane, issued_ = start.issued, arrived_ = start.arrived;
  Nanos total = -1;
  for (std::int32_t k = from; k < Count(p_.timings.size()) && total < 0; ++k) {
    StepBackward(k);
    if (k < calm || k + 1 == Count(p_.timings.size())) continue;
    const RunTrace::Backward& was = base.backward[Index(k + 1)];
    const Nanos shift = ShiftOf(was.compute, was.lane, compute_, lane_);
    if (shift >= 0 && EndEarlier(of.swap_ins, s_.swap_ins, arrived_, issued_, shift)) total = whole - shift;
  }
  std::copy(of.swap_ins.begin() + static_cast<std::ptrdiff_t>(start.issued),
            of.swap_ins.begin() + static_cast<std::ptrdiff_t>(issued_),
            s_.swap_ins.begin() + static_cast<std::ptrdiff_t>(start.issued));
  return total < 0 ? compute_ : total;
}

// Whether the same maps are there at the start of the timing.
bool PoochModel::Run::SameAvailable(const RunTrace& base, std::int32_t timing) const {
  for (std::size_t m = 0; m < p_.maps.size(); ++m) {
    const bool was = base.maps[m].came < timing && p_.maps[m].last_timing >= timing;
    if (was != (s_.available[m] != 0)) return false;
  }
  return true;
}

Simulation PoochModel::Run::WalkAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t map) {
  const RunTrace::MapTrace& asked = base.maps[Index(map)];
  for (std::size_t m = 0; m < p_.maps.size(); ++m) {
    s_.available[m] = base.maps[m].came < asked.first && p_.maps[m].last_timing >= asked.first ? 1 : 0;
  }
  live_ = base.walk[Index(asked.first)].live;
  visits_ = base.walk[Index(asked.first)].visits;
  s_.swap_ins.clear();
  for (std::int32_t k = asked.first; k < Count(p_.timings.size()); ++k) {
    if (!WalkTiming(k)) return result_;
    result_.backward_compute += s_.recompute[Index(k)] - of.recompute[Index(k)];
    if (k < asked.last || k + 1 == Count(p_.timings.size())) continue;
    const RunTrace::Walk& was = base.walk[Index(k + 1)];
    if (live_ != was.live || !SameAvailable(base, k + 1)) continue;
    visits_ += base.visits - was.visits;
    result_.endless = IsEndless();
    break;
  }
  result_.feasible = !result_.endless;
  return result_;
}

SwapAlternatives::SwapAlternatives(Search& search)
    : search_(search),
      profile_(search.model->profile()),
      options_{.rule = search.rule, .keep_passed = search.keep_passed},
      leaves_(profile_.maps.size(), -1),
      of_base_(search.model->MakeScratch()),
      walk_(search.model->MakeScratch()) {
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
  trace_.maps.assign(profile_.maps.size(), {.came = kNeverCame});
  for (std::size_t m = 0; m < classes.size(); ++m) {
    if (classes[m] == MapClass::kKeep && profile_.maps[m].Decidable()) trace_.maps[m].came = -1;
  }
  base_ = PoochModel::Run(profile_, classes_, options_, of_base_, &trace_).Go();
  swap_in_.assign(profile_.maps.size(), -1);
  for (std::size_t k = 0; k < of_base_.swap_ins.size(); ++k) {
    swap_in_[Index(of_base_.swap_ins[k].map)] = static_cast<std::int32_t>(k);
  }
  clocks_ = of_base_;
  return base_;
}

Simulation SwapAlternatives::Instant(std::int32_t map) {
  ++search_.simulations;
  SimulationOptions options = options_;
  options.instant = map;
  Simulation now = base_;
  std::int32_t from = of_base_.swap_ins[Index(swap_in_[Index(map)])].issue, calm = -1;
  for (const RunTrace::Passing& copy : trace_.passing) {
    if (copy.map != map) continue;
    clocks_.recompute[Index(copy.timing)] -= profile_.maps[Index(map)].in_time;
    now.backward_compute -= profile_.maps[Index(map)].in_time;
    from = std::min(from, copy.timing);
    calm = std::max(calm, copy.timing);
  }
  PoochModel::Run forward(profile_, classes_, options, clocks_), backward(profile_, classes_, options, clocks_);
  now.forward = forward.ForwardAgain(trace_, of_base_, leaves_[Index(map)], base_.forward);
  now.total = now.forward + backward.BackwardAgain(trace_, of_base_, from, calm, base_.total - base_.forward);
  for (const RunTrace::Passing& copy : trace_.passing) {
    clocks_.recompute[Index(copy.timing)] = of_base_.recompute[Index(copy.timing)];
  }
  return now;
}

Simulation SwapAlternatives::Recomputed(std::int32_t map) {
  ++search_.simulations;
  classes_[Index(map)] = MapClass::kRecompute;
  Simulation now = PoochModel::Run(profile_, classes_, options_, walk_).WalkAgain(trace_, of_base_, map);
  classes_[Index(map)] = MapClass::kSwap;
  now.backward_compute += base_.backward_compute;
  return now;
}

}  // namespace spillway
