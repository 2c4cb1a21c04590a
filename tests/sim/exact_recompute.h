// The fastest order of ops and recomputations of a small recorded step in which nothing is copied, by a search over all
// states. Each run of an op may take any of its ways, and so may each recomputation.
//
// A state is the next op and what is on the device. From a state the next op may run, any earlier forward op may run
// again, and any value may leave. A run needs room for its results and for the workspace of its way. The search shares no
// code with the planners.
//
//   ExactRecompute(recorded, 7 * kAllocationUnit, false).Optimum()    nanoseconds; 0: nothing fits
//
// REQUIRES: every tensor has one writer, moves, and may be recomputed; bytes are multiples of kAllocationUnit.
#ifndef SPILLWAY_TESTS_SIM_EXACT_RECOMPUTE_H_
#define SPILLWAY_TESTS_SIM_EXACT_RECOMPUTE_H_

#include <cstdint>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "model/recorded/recorded_step.h"
#include "sim/program/step_tables.h"

namespace spillway {

class ExactRecompute {
 public:
  // `addresses`: values and workspaces lie at addresses and never move; else only bytes count.
  ExactRecompute(const RecordedStep& recorded, Bytes capacity, bool addresses)
      : step_(recorded.step), ways_(recorded.ways), units_(UnitsOf(capacity)), addresses_(addresses) {
    for (const Tensor& t : step_.tensors) size_.push_back(UnitsOf(t.bytes));
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
  static int UnitsOf(Bytes bytes) { return static_cast<int>(bytes / kAllocationUnit); }
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
    for (const RecordedWay& way : ways_[Index(op)]) {
      const Nanos takes = op == state.next ? way.time : way.recompute_time;
      Place(after, op, 0, UnitsOf(way.workspace), time + takes);
    }
  }

  // The op's results from the k-th on, wherever there is room, then its workspace.
  void Place(const State& state, OpId op, std::size_t k, int workspace, Nanos time) {
    const std::vector<TensorId>& writes = step_.ops[Index(op)].writes;
    while (k < writes.size() && state.at[Index(writes[k])] != kAway) ++k;
    if (k == writes.size()) {
      if (HasRoomFor(state, workspace)) Reach(state, time);
      return;
    }
    const std::size_t t = Index(writes[k]);
    for (int at = 0; at + size_[t] <= units_; ++at) {
      if (!HasRoom(state, size_[t], at)) continue;
      State more = state;
      more.at[t] = static_cast<std::int8_t>(at);
      Place(more, op, k + 1, workspace, time);
      if (!addresses_) return;
    }
  }

  bool HasRoomFor(const State& state, int size) const {
    if (size == 0) return true;
    for (int at = 0; at + size <= units_; ++at) {
      if (HasRoom(state, size, at)) return true;
    }
    return false;
  }

  bool HasRoom(const State& state, int size, int at) const {
    int live = size;
    for (std::size_t t = 0; t < size_.size(); ++t) {
      if (state.at[t] == kAway) continue;
      live += size_[t];
      const bool apart = at + size <= state.at[t] || state.at[t] + size_[t] <= at;
      if (addresses_ && !apart) return false;
    }
    return live <= units_;
  }

  const TrainingStep& step_;
  const std::vector<std::vector<RecordedWay>>& ways_;
  const int units_;
  const bool addresses_;
  std::vector<int> size_;  // by tensor, in units
  std::map<State, Nanos> known_;
  using Reached = std::pair<Nanos, State>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_EXACT_RECOMPUTE_H_
