// A plain discrete-event engine on std::priority_queue, as a yardstick for the engines of sim/engine/simulate.h: the same
// train_chain workload, makespan and memory peak, nothing else. Used by benchmarks and as a third opinion in tests.
#ifndef SPILLWAY_TESTS_SIM_REFERENCE_ENGINE_H_
#define SPILLWAY_TESTS_SIM_REFERENCE_ENGINE_H_

#include <algorithm>
#include <queue>
#include <vector>

#include "tests/sim/train_chain.h"

namespace spillway {

class ReferenceEngine {
 public:
  explicit ReferenceEngine(int layers) : n_(static_cast<std::size_t>(layers)), ops_(4 * n_) {
    // Op ids: F_i = i, O_i = n + i, B_i = 2n + i, I_i = 3n + i.
    for (std::size_t i = 0; i < n_; ++i) {
      const int layer = static_cast<int>(i);
      ops_[i] = {.duration = TrainChainForward(layer), .at_start = TrainChainBytes(layer)};
      ops_[n_ + i] = {.duration = TrainChainCopy(layer), .at_end = -TrainChainBytes(layer)};
      ops_[2 * n_ + i] = {.duration = 2 * TrainChainForward(layer), .at_end = -TrainChainBytes(layer)};
      ops_[3 * n_ + i] = {.duration = TrainChainCopy(layer), .at_start = TrainChainBytes(layer)};
    }
    for (std::size_t i = 0; i < n_; ++i) {
      if (i > 0) Edge(i - 1, i);            // compute stream
      if (i > 0) Edge(n_ + i - 1, n_ + i);  // device to host
      Edge(i, n_ + i);
      Edge(i + 1 < n_ ? 2 * n_ + i + 1 : n_ - 1, 2 * n_ + i);  // compute stream
      if (i + 1 < n_) Edge(3 * n_ + i + 1, 3 * n_ + i);        // host to device
      Edge(n_ + i, 3 * n_ + i);
      Edge(i + 3 < n_ ? 2 * n_ + i + 3 : n_ - 1, 3 * n_ + i);
      Edge(3 * n_ + i, 2 * n_ + i);
    }
    waiting_.resize(ops_.size());
  }

  struct Result {
    Nanos makespan;
    Bytes peak;
  };
  Result Run() {
    for (std::size_t i = 0; i < ops_.size(); ++i) waiting_[i] = ops_[i].predecessors;
    live_ = peak_ = 0;
    now_ = 0;
    Start(0);
    while (!queue_.empty()) {
      const Event event = queue_.top();
      queue_.pop();
      now_ = event.time;
      const Op& op = ops_[event.op];
      if (event.is_end) {
        live_ += op.at_end;
        for (std::uint32_t k = 0; k < op.successors; ++k) {
          if (--waiting_[op.successor[k]] == 0) queue_.push({now_, false, op.successor[k]});
        }
      } else {
        Start(event.op);
      }
    }
    return {now_, peak_};
  }

 private:
  struct Op {
    Nanos duration = 0;
    Bytes at_start = 0, at_end = 0;
    std::uint32_t predecessors = 0, successors = 0;
    std::uint32_t successor[4] = {};
  };
  struct Event {
    Nanos time;
    bool is_end;  // ends come first, so that frees do
    std::uint32_t op;
    bool operator<(const Event& other) const {
      if (time != other.time) return time > other.time;
      if (is_end != other.is_end) return other.is_end;
      return op > other.op;
    }
  };
  void Edge(std::size_t from, std::size_t to) {
    ops_[from].successor[ops_[from].successors++] = static_cast<std::uint32_t>(to);
    ++ops_[to].predecessors;
  }
  void Start(std::uint32_t op) {
    live_ += ops_[op].at_start;
    peak_ = std::max(peak_, live_);
    queue_.push({now_ + ops_[op].duration, true, op});
  }

  std::size_t n_;
  std::vector<Op> ops_;
  std::vector<std::uint32_t> waiting_;
  std::priority_queue<Event> queue_;
  Bytes live_ = 0, peak_ = 0;
  Nanos now_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_REFERENCE_ENGINE_H_
