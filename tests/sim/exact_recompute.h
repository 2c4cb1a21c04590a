// The fastest order of ops and recomputations of a small step in which nothing is copied, by a search over all states.
//
// A state is the next op and what is on the device, in an arena with addresses. From a state the next op may run, any
// earlier forward op may run again, and any value may leave. The search shares no code with the planners.
//
//   ExactRecompute(step, times, 7 * kAllocationUnit, false).Optimum()    nanoseconds; 0: nothing fits
//
// REQUIRES: every tensor has one writer, moves, and may be recomputed; bytes are multiples of kAllocationUnit.
#ifndef SPILLWAY_TESTS_SIM_EXACT_RECOMPUTE_H_
#define SPILLWAY_TESTS_SIM_EXACT_RECOMPUTE_H_

#include <cstdint>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "model/step/training_step.h"
#include "sim/program/program.h"

namespace spillway {

class ExactRecompute {
 public:
  // `addresses`: values lie at addresses and never move; else only bytes count.
  ExactRecompute(const TrainingStep& step, std::vector<Nanos> times, Bytes capacity, bool addresses)
      : step_(step),
        times_(std::move(times)),
        units_(static_cast<int>(capacity / kAllocationUnit)),
        addresses_(addresses) {
    for (const Tensor& t : step.tensors) size_.push_back(static_cast<int>(t.bytes / kAllocationUnit));
  }

  Nanos Optimum() {
    Reach({0, std::vector<std::int8_t>(size_.size(), kAway)}, 0);
    while (!queue_.empty()) {
      const auto [time, state] = queue_.top();
      queue_.pop();
      if (known_.at(state) < time) continue;
      if (state.next == static_cast<OpId>(step_.ops.size())) return time;
      Leave(state, time);
      for (OpId op = 0; op <= state.next; ++op) {
        if (op == state.next || step_.IsForward(op)) Run(state, op, time);
      }
    }
    return 0;
  }

 private:
  static constexpr std::int8_t kAway = -1;
  struct State {
    OpId next = 0;
    std::vector<std::int8_t> at;  // by tensor: its first unit, 0 where addresses do not count
    auto operator<=>(const State&) const = default;
  };

  void Reach(State state, Nanos time) {
    const auto [found, fresh] = known_.try_emplace(state, time);
    if (!fresh && found->second <= time) return;
    found->second = time;
    queue_.emplace(time, std::move(state));
  }

  void Leave(const State& state, Nanos time) {
    for (std::size_t t = 0; t < size_.size(); ++t) {
      if (state.at[t] == kAway) continue;
      State less = state;
      less.at[t] = kAway;
      Reach(std::move(less), time);
    }
  }

  void Run(const State& state, OpId op, Nanos time) {
    for (const TensorId t : step_.ops[Index(op)].reads) {
      if (state.at[Index(t)] == kAway) return;
    }
    State after = state;
    if (op == state.next) ++after.next;
    Place(after, op, 0, time + times_[Index(op)]);
  }

  // The op's results from the k-th on, wherever there is room.
  void Place(const State& state, OpId op, std::size_t k, Nanos time) {
    const std::vector<TensorId>& writes = step_.ops[Index(op)].writes;
    while (k < writes.size() && state.at[Index(writes[k])] != kAway) ++k;
    if (k == writes.size()) return Reach(state, time);
    const std::size_t t = Index(writes[k]);
    for (int at = 0; at + size_[t] <= units_; ++at) {
      if (!HasRoom(state, t, at)) continue;
      State more = state;
      more.at[t] = static_cast<std::int8_t>(at);
      Place(more, op, k + 1, time);
      if (!addresses_) return;
    }
  }

  bool HasRoom(const State& state, std::size_t tensor, int at) const {
    int live = size_[tensor];
    for (std::size_t t = 0; t < size_.size(); ++t) {
      if (state.at[t] == kAway) continue;
      live += size_[t];
      const bool apart = at + size_[tensor] <= state.at[t] || state.at[t] + size_[t] <= at;
      if (addresses_ && !apart) return false;
    }
    return live <= units_;
  }

  const TrainingStep& step_;
  const std::vector<Nanos> times_;
  const int units_;
  const bool addresses_;
  std::vector<int> size_;  // by tensor, in units
  std::map<State, Nanos> known_;
  using Reached = std::pair<Nanos, State>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_EXACT_RECOMPUTE_H_
