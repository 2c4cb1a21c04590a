#include "sim/strategies/pooch/pooch_model.h"

#include <algorithm>
#include <cassert>

#include "sim/strategies/pooch/pooch_run.h"

namespace spillway {

bool PoochModel::Run::Forward() {
  compute_ = p_.upload;
  live_ = p_.initial;
  for (const PoochProfile::ForwardOp& op : p_.forward) {
    if (trace_ != nullptr) trace_->forward.push_back(ForwardState());
    if (!StepForward(op)) return false;
  }
  EndForward();
  return true;
}

bool PoochModel::Run::StepForward(const PoochProfile::ForwardOp& op) {
  while (HasPending() && s_.pending[oldest_].end <= compute_) EndOldest();
  live_ += op.allocates;
  while (live_ + op.workspace > p_.capacity && HasPending()) compute_ += EndOldest();
  if (!Fits(live_ + op.workspace, op.op)) return false;
  compute_ += op.time;
  live_ -= op.releases;
  for (std::int32_t i = op.maps_begin; i < op.maps_end; ++i) Leave(p_.leaving[Index(i)]);
  return true;
}

void PoochModel::Run::EndForward() {
  while (HasPending()) EndOldest();
  result_.forward = std::max(compute_, lane_);
}

// The oldest swap-out has ended: its map's memory is free. Returns how long compute has waited for it.
Nanos PoochModel::Run::EndOldest() {
  const SimulationScratch::Pending& pending = s_.pending[oldest_++];
  const Nanos wait = std::max<Nanos>(pending.end - compute_, 0);
  s_.out_wait[Index(pending.map)] = wait;
  live_ -= p_.maps[Index(pending.map)].bytes;
  return wait;
}

// A map after its last forward use.
void PoochModel::Run::Leave(std::int32_t map) {
  const MapClass c = classes_[Index(map)];
  if (c == MapClass::kKeep) return;
  if (c != MapClass::kSwap || p_.maps[Index(map)].on_host) {
    live_ -= p_.maps[Index(map)].bytes;
    return;
  }
  lane_ = std::max(lane_, compute_) + OutTime(map);
  s_.pending.push_back({map, lane_});
}

// Walks the timings without times: which maps are swapped in for which, what is recomputed, and the bytes live at most
// in each if every swap-in is issued when it is needed.
bool PoochModel::Run::WalkTimings() {
  StartWalk();
  for (std::int32_t k = 0; k < Count(p_.timings.size()); ++k) {
    if (!WalkTiming(k)) return false;
  }
  return true;
}

void PoochModel::Run::StartWalk() {
  live_ = 0;
  std::fill(s_.available.begin(), s_.available.end(), std::uint8_t{0});
  for (std::size_t m = 0; m < p_.maps.size(); ++m) {
    if (!p_.maps[m].Decidable()) continue;
    s_.available[m] = classes_[m] == MapClass::kKeep || classes_[m] == MapClass::kFree ? 1 : 0;
    if (classes_[m] == MapClass::kKeep) live_ += p_.maps[m].bytes;
  }
}

bool PoochModel::Run::WalkTiming(std::int32_t timing) {
  const PoochProfile::Timing& row = p_.timings[Index(timing)];
  if (trace_ != nullptr) trace_->walk.push_back({live_, visits_});
  s_.recompute[Index(timing)] = 0;
  spike_ = live_;
  std::size_t known = s_.swap_ins.size();
  for (std::int32_t i = row.needs_begin; i < row.needs_end; ++i) Fetch(p_.needs[Index(i)], timing);
  Bytes arrived = 0;  // all of it before anything is recomputed
  for (; known < s_.swap_ins.size(); ++known) arrived += p_.maps[Index(s_.swap_ins[known].map)].bytes;
  live_ += arrived;
  Bytes load = row.before + arrived + spike_;
  for (std::int32_t i = row.stretches_begin; i < row.stretches_end; ++i) {
    const PoochProfile::Stretch& stretch = p_.stretches[Index(i)];
    load = std::max(load, live_ + stretch.peak);
    for (std::int32_t e = stretch.ends_begin; e < stretch.ends_end; ++e) End(p_.ends[Index(e)]);
  }
  s_.load[Index(timing)] = load;
  if (trace_ != nullptr) trace_->load.push_back(load);
  result_.endless = IsEndless();
  return Fits(load, row.first_op) && !result_.endless;
}

// A map after its last use.
void PoochModel::Run::End(std::int32_t map) {
  if (classes_[Index(map)] == MapClass::kFree) return;
  s_.available[Index(map)] = 0;
  live_ -= p_.maps[Index(map)].bytes;
}

// Whether a value brought back for another one's sake stays for a use of its own.
bool PoochModel::Run::Stays(std::int32_t value, std::int32_t timing) const {
  if (!IsDecidable(value) || p_.maps[Index(value)].last_timing < timing) return false;
  const bool anew = classes_[Index(value)] == MapClass::kRecomputeAnew;
  if ((options_.keep_passed && !anew) || IsCopiedIn(value)) return true;
  const auto needs = p_.needs.begin();
  const PoochProfile::Timing& row = p_.timings[Index(timing)];
  return std::find(needs + row.needs_begin, needs + row.needs_end, value) != needs + row.needs_end;
}

// Puts `value` on the device if it is not there.
void PoochModel::Run::Fetch(std::int32_t value, std::int32_t timing) {
  if (s_.available[Index(value)] != 0) return;
  Touch(value, timing);
  if (trace_ != nullptr) trace_->came[Index(value)] = timing;
  if (!IsCopiedIn(value)) BringSources(value, timing);
  BringBack(value, timing);
}

// What stays comes first, as far back as need be, so that nothing waits in passing beside another recomputation.
void PoochModel::Run::BringSources(std::int32_t value, std::int32_t timing) {
  const PoochProfile::Value& row = p_.values[Index(value)];
  for (std::int32_t w = row.writers_begin; w < row.writers_end; ++w) {
    const PoochProfile::Writer& writer = p_.writers[Index(w)];
    ++visits_;
    if (IsEndless()) return;
    for (std::int32_t i = writer.inputs_begin; i < writer.inputs_end; ++i) {
      const std::int32_t input = p_.inputs[Index(i)];
      if (s_.available[Index(input)] != 0) continue;
      Touch(input, timing);
      if (Stays(input, timing)) {
        Fetch(input, timing);
      } else if (!IsCopiedIn(input)) {
        BringSources(input, timing);
      }
    }
  }
}

void PoochModel::Run::BringBack(std::int32_t value, std::int32_t timing) {
  IsCopiedIn(value) ? SwapIn(value, timing) : Recompute(value, timing);
  s_.available[Index(value)] = 1;
}

void PoochModel::Run::SwapIn(std::int32_t map, std::int32_t timing) {
  if (Stays(map, timing)) {
    s_.swap_ins.push_back({map, timing, timing, 0, 0});
    return;
  }
  live_ += p_.maps[Index(map)].bytes;
  spike_ = std::max(spike_, live_);
  s_.recompute[Index(timing)] += InTime(map);
  if (trace_ != nullptr) trace_->passing.push_back({map, timing});
}

void PoochModel::Run::Recompute(std::int32_t value, std::int32_t timing) {
  const PoochProfile::Value& row = p_.values[Index(value)];
  for (std::int32_t w = row.writers_begin; w < row.writers_end; ++w) {
    RunAgain(p_.writers[Index(w)], value, w == row.writers_begin, timing);
  }
}

// Runs a forward op again for `value`, then drops what nothing but it needed.
void PoochModel::Run::RunAgain(const PoochProfile::Writer& writer, std::int32_t value, bool first,
                               std::int32_t timing) {
  ++visits_;
  if (IsEndless()) return;
  const std::size_t passing = s_.passing.size();
  for (const bool transients : {false, true}) {  // a map may be a long way back
    for (std::int32_t i = writer.inputs_begin; i < writer.inputs_end; ++i) {
      const std::int32_t input = p_.inputs[Index(i)];
      if (s_.available[Index(input)] != 0 || (input >= Count(p_.maps.size())) != transients) continue;
      Touch(input, timing);
      BringBack(input, timing);
      if (!Stays(input, timing)) s_.passing.push_back(input);
    }
  }
  if (first) live_ += p_.values[Index(value)].bytes;
  spike_ = std::max(spike_, live_ + writer.workspace);
  s_.recompute[Index(timing)] += writer.time;
  if (options_.ran_again != nullptr) options_.ran_again->push_back({timing, writer.op});
  for (; s_.passing.size() > passing; s_.passing.pop_back()) {
    s_.available[Index(s_.passing.back())] = 0;
    live_ -= p_.values[Index(s_.passing.back())].bytes;
  }
}

void PoochModel::Run::Backward() {
  compute_ = lane_ = 0;
  for (std::int32_t k = 0; k < Count(p_.timings.size()); ++k) {
    if (trace_ != nullptr) trace_->backward.push_back({compute_, lane_, issued_, arrived_});
    StepBackward(k);
  }
  result_.total = result_.forward + compute_;
}

void PoochModel::Run::StepBackward(std::int32_t k) {
  s_.timing_clock[Index(k)] = compute_;
  for (; issued_ < s_.swap_ins.size() && s_.swap_ins[issued_].issue == k; ++issued_) {
    SimulationScratch::SwapIn& swap_in = s_.swap_ins[issued_];
    swap_in.start = std::max(lane_, compute_);
    swap_in.end = lane_ = swap_in.start + InTime(swap_in.map);
  }
  const Nanos ready = compute_;
  for (; arrived_ < s_.swap_ins.size() && s_.swap_ins[arrived_].need == k; ++arrived_) {
    const SimulationScratch::SwapIn& swap_in = s_.swap_ins[arrived_];
    s_.in_wait[Index(swap_in.map)] = std::max<Nanos>(swap_in.end - ready, 0);
    compute_ = std::max(compute_, swap_in.end);
  }
  const Nanos time = p_.timings[Index(k)].time + s_.recompute[Index(k)];
  compute_ += time;
  result_.backward_compute += time;
}

Simulation PoochModel::Simulate(std::span<const MapClass> classes, const SimulationOptions& options,
                                SimulationScratch& scratch) const {
  assert(Count(classes.size()) == maps());
  return Run(profile_, classes, options, scratch).Go();
}

SimulationScratch PoochModel::MakeScratch() const {
  const std::size_t maps = profile_.maps.size(), values = profile_.values.size(), timings = profile_.timings.size();
  SimulationScratch s;
  s.swap_ins.reserve(maps);
  s.pending.reserve(maps);
  s.out_wait.resize(maps);
  s.in_wait.resize(maps);
  s.available.resize(values);
  s.passing.reserve(values);
  s.timing_clock.resize(timings);
  s.load.resize(timings);
  s.recompute.resize(timings);
  s.stack.reserve(timings);
  return s;
}

}  // namespace spillway
