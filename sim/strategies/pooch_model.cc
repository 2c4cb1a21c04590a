#include "sim/strategies/pooch_model.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "sim/strategies/swap_in_rules.h"

namespace spillway {
namespace {

std::size_t At(std::int32_t i) { return static_cast<std::size_t>(i); }
std::int32_t Count(std::size_t n) { return static_cast<std::int32_t>(n); }

}  // namespace

// One simulation: the forward walk, what each timing needs, when swap-ins are issued, the backward walk.
class PoochModel::Run {
 public:
  Run(const PoochProfile& profile, std::span<const MapClass> classes, const SimulationOptions& options,
      SimulationScratch& scratch)
      : p_(profile), classes_(classes), options_(options), s_(scratch) {}

  Simulation Go() {
    Reset();
    if (!Forward()) return result_;
    FindNeeds();
    if (!FindLoads()) return result_;
    IssueSwapIns(p_, options_.rule, s_);
    Backward();
    result_.feasible = result_.needed == 0;
    return result_;
  }

 private:
  bool IsDecidable(std::int32_t value) const { return value < Count(p_.maps.size()) && p_.maps[At(value)].Decidable(); }
  Nanos OutTime(std::int32_t map) const { return map == options_.instant ? 0 : p_.maps[At(map)].out_time; }
  Nanos InTime(std::int32_t map) const { return map == options_.instant ? 0 : p_.maps[At(map)].in_time; }

  void Reset() {
    result_.total = kNever;
    s_.swap_ins.clear();
    s_.pending.clear();
    std::fill(s_.out_wait.begin(), s_.out_wait.end(), 0);
    std::fill(s_.in_wait.begin(), s_.in_wait.end(), 0);
  }

  bool Fits(Bytes bytes, OpId op) {
    result_.peak = std::max(result_.peak, bytes);
    if (bytes <= p_.capacity) return true;
    if (result_.needed == 0) {
      result_.worst_op = op;
      result_.needed = bytes;
    }
    return !options_.enforce_capacity;
  }

  bool Forward();
  void Leave(std::int32_t map);
  void FindNeeds();
  void Need(std::int32_t map, std::int32_t timing);
  void AddToChain(std::int32_t value, std::int32_t timing);
  void SwapIn(std::int32_t map, std::int32_t timing);
  void RunChain(std::int32_t timing);
  bool FindLoads();
  void Backward();

  const PoochProfile& p_;
  std::span<const MapClass> classes_;
  const SimulationOptions& options_;
  SimulationScratch& s_;
  Simulation result_;
  Nanos compute_ = 0, lane_ = 0;
  Bytes live_ = 0;
  std::size_t oldest_ = 0;  // of s_.pending
};

bool PoochModel::Run::Forward() {
  compute_ = p_.upload;
  live_ = p_.initial;
  for (const PoochProfile::ForwardOp& op : p_.forward) {
    while (oldest_ < s_.pending.size() && s_.pending[oldest_].end <= compute_) {
      live_ -= p_.maps[At(s_.pending[oldest_++].map)].bytes;
    }
    live_ += op.allocates;
    while (live_ + op.workspace > p_.capacity && oldest_ < s_.pending.size()) {
      const SimulationScratch::Pending& pending = s_.pending[oldest_++];
      s_.out_wait[At(pending.map)] = std::max<Nanos>(pending.end - compute_, 0);
      compute_ = std::max(compute_, pending.end);
      live_ -= p_.maps[At(pending.map)].bytes;
    }
    if (!Fits(live_ + op.workspace, op.op)) return false;
    compute_ += op.time;
    live_ -= op.releases;
    for (std::int32_t i = op.maps_begin; i < op.maps_end; ++i) Leave(p_.leaving[At(i)]);
  }
  for (; oldest_ < s_.pending.size(); ++oldest_) {
    const SimulationScratch::Pending& pending = s_.pending[oldest_];
    s_.out_wait[At(pending.map)] = std::max<Nanos>(pending.end - compute_, 0);
    live_ -= p_.maps[At(pending.map)].bytes;
  }
  result_.forward = std::max(compute_, lane_);
  return true;
}

// A map after its last forward use.
void PoochModel::Run::Leave(std::int32_t map) {
  const MapClass c = classes_[At(map)];
  if (c == MapClass::kKeep) return;
  if (c != MapClass::kSwap || p_.maps[At(map)].on_host) {
    live_ -= p_.maps[At(map)].bytes;
    return;
  }
  lane_ = std::max(lane_, compute_) + OutTime(map);
  s_.pending.push_back({map, lane_});
}

// Walks the timings without times: which maps are swapped in for which, what is recomputed, when maps die.
void PoochModel::Run::FindNeeds() {
  std::fill(s_.available.begin(), s_.available.end(), std::uint8_t{0});
  std::fill(s_.chain_stamp.begin(), s_.chain_stamp.end(), -1);
  std::fill(s_.arrives.begin(), s_.arrives.end(), 0);
  std::fill(s_.results.begin(), s_.results.end(), 0);
  std::fill(s_.leaves.begin(), s_.leaves.end(), 0);
  for (std::size_t m = 0; m < p_.maps.size(); ++m) {
    s_.last_need[m] = p_.maps[m].last_timing;
    const MapClass c = classes_[m];
    s_.available[m] = p_.maps[m].Decidable() && (c == MapClass::kKeep || c == MapClass::kFree) ? 1 : 0;
  }
  for (std::int32_t k = 0; k < Count(p_.timings.size()); ++k) {
    s_.spike[At(k)] = 0;
    s_.recompute[At(k)] = 0;
    s_.chain.clear();
    for (std::int32_t i = p_.timings[At(k)].needs_begin; i < p_.timings[At(k)].needs_end; ++i) {
      Need(p_.needs[At(i)], k);
    }
    if (!s_.chain.empty()) RunChain(k);
  }
  for (std::size_t m = 0; m < p_.maps.size(); ++m) {
    if (!p_.maps[m].Decidable() || classes_[m] == MapClass::kFree) continue;
    s_.leaves[At(s_.last_need[m])] += p_.maps[m].bytes;
  }
}

void PoochModel::Run::Need(std::int32_t map, std::int32_t timing) {
  if (s_.available[At(map)] != 0 || s_.chain_stamp[At(map)] == timing) return;
  if (IsDecidable(map) && classes_[At(map)] == MapClass::kSwap) {
    SwapIn(map, timing);
  } else {
    AddToChain(map, timing);
  }
}

void PoochModel::Run::SwapIn(std::int32_t map, std::int32_t timing) {
  s_.available[At(map)] = 1;
  s_.arrives[At(timing)] += p_.maps[At(map)].bytes;
  s_.swap_ins.push_back({map, timing, timing, 0, 0});
}

// Sources first; what is on the device already lives at least as long as this timing.
void PoochModel::Run::AddToChain(std::int32_t value, std::int32_t timing) {
  s_.chain_stamp[At(value)] = timing;
  const PoochProfile::Value& row = p_.values[At(value)];
  for (std::int32_t i = row.inputs_begin; i < row.inputs_end; ++i) {
    const std::int32_t input = p_.inputs[At(i)];
    if (input >= Count(p_.maps.size())) {
      if (s_.chain_stamp[At(input)] != timing) AddToChain(input, timing);
      continue;
    }
    Need(input, timing);
    if (s_.available[At(input)] != 0) s_.last_need[At(input)] = std::max(s_.last_need[At(input)], timing);
  }
  s_.chain.push_back(value);
}

// Maps of the chain stay on the device, transients are freed in it.
void PoochModel::Run::RunChain(std::int32_t timing) {
  for (std::int32_t at = 0; at < Count(s_.chain.size()); ++at) {
    const PoochProfile::Value& row = p_.values[At(s_.chain[At(at)])];
    for (std::int32_t i = row.inputs_begin; i < row.inputs_end; ++i) s_.chain_last[At(p_.inputs[At(i)])] = at;
  }
  Bytes running = 0;
  for (std::int32_t at = 0; at < Count(s_.chain.size()); ++at) {
    const std::int32_t value = s_.chain[At(at)];
    const PoochProfile::Value& row = p_.values[At(value)];
    running += row.bytes;
    s_.spike[At(timing)] = std::max(s_.spike[At(timing)], running + row.workspace);
    s_.recompute[At(timing)] += row.time;
    for (std::int32_t i = row.inputs_begin; i < row.inputs_end; ++i) {
      const std::int32_t input = p_.inputs[At(i)];
      const bool passing = s_.chain_stamp[At(input)] == timing && !IsDecidable(input);
      if (passing && s_.chain_last[At(input)] == at) running -= p_.values[At(input)].bytes;
    }
    if (!IsDecidable(value)) continue;
    s_.available[At(value)] = 1;
    s_.results[At(timing)] += row.bytes;
    s_.last_need[At(value)] = std::max(s_.last_need[At(value)], timing);
  }
}

// Bytes live at most in each timing if every swap-in is issued when it is needed.
bool PoochModel::Run::FindLoads() {
  Bytes maps = 0;
  for (std::size_t m = 0; m < p_.maps.size(); ++m) {
    if (p_.maps[m].Decidable() && classes_[m] == MapClass::kKeep) maps += p_.maps[m].bytes;
  }
  for (std::size_t k = 0; k < p_.timings.size(); ++k) {
    const PoochProfile::Timing& timing = p_.timings[k];
    maps += s_.arrives[k];
    const Bytes during_chain = maps + timing.before + s_.spike[k];
    maps += s_.results[k];
    s_.load[k] = std::max(during_chain, maps + timing.peak);
    if (!Fits(s_.load[k], timing.first_op)) return false;
    maps -= s_.leaves[k];
  }
  return true;
}

void PoochModel::Run::Backward() {
  compute_ = lane_ = 0;
  std::size_t issued = 0, arrived = 0;
  for (std::int32_t k = 0; k < Count(p_.timings.size()); ++k) {
    s_.timing_clock[At(k)] = compute_;
    for (; issued < s_.swap_ins.size() && s_.swap_ins[issued].issue == k; ++issued) {
      SimulationScratch::SwapIn& swap_in = s_.swap_ins[issued];
      swap_in.start = std::max(lane_, compute_);
      swap_in.end = lane_ = swap_in.start + InTime(swap_in.map);
    }
    const Nanos ready = compute_;
    for (; arrived < s_.swap_ins.size() && s_.swap_ins[arrived].need == k; ++arrived) {
      const SimulationScratch::SwapIn& swap_in = s_.swap_ins[arrived];
      s_.in_wait[At(swap_in.map)] = std::max<Nanos>(swap_in.end - ready, 0);
      compute_ = std::max(compute_, swap_in.end);
    }
    const Nanos time = p_.timings[At(k)].time + s_.recompute[At(k)];
    compute_ += time;
    result_.backward_compute += time;
  }
  result_.total = result_.forward + compute_;
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
  s.last_need.resize(maps);
  s.available.resize(values);
  s.chain.reserve(values);
  s.chain_stamp.resize(values);
  s.chain_last.resize(values);
  s.timing_clock.resize(timings);
  s.arrives.resize(timings);
  s.results.resize(timings);
  s.leaves.resize(timings);
  s.load.resize(timings);
  s.spike.resize(timings);
  s.recompute.resize(timings);
  s.stack.reserve(timings);
  return s;
}

}  // namespace spillway
