// The least code that relaxes any list of ops with dependencies, as a yardstick for the engines of sim/engine/simulate.h:
// what someone writes by hand who has no Program, no host and no contention, but a workload that may be any. Beside it
// relaxation_lines.h, which can do train_chain and nothing else, is the ceiling.
#ifndef SPILLWAY_TESTS_SIM_FLAT_LINES_H_
#define SPILLWAY_TESTS_SIM_FLAT_LINES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/sim/train_chain.h"

namespace spillway {

// Ops in an order in which every one follows those it depends on; streams run theirs in that order. kStreams of them.
template <std::size_t kStreams>
class FlatLines {
 public:
  struct Op {
    Nanos duration = 0;
    Bytes allocated = 0, freed = 0;        // at its start, at its end
    std::array<std::uint32_t, 2> after{};  // ends of ops, as Add answers; 0: of none
    std::uint32_t stream = 0;
  };
  std::uint32_t Add(const Op& op) {
    ops_.push_back(op);
    ends_.resize(ops_.size() + 1);
    for (std::vector<Change>& list : changes_) list.resize(2 * ops_.size() + 1);
    return static_cast<std::uint32_t>(ops_.size());
  }

  template <bool kPeak>
  Nanos Run() {
    std::array<Nanos, kStreams> ready{};
    std::array<Change*, kStreams> last;
    for (std::size_t s = 0; s < kStreams; ++s) last[s] = changes_[s].data();
    Nanos* next = ends_.data();
    for (const Op& op : ops_) {
      const Nanos start = std::max({ready[op.stream], ends_[op.after[0]], ends_[op.after[1]]});
      const Nanos end = start + op.duration;
      ready[op.stream] = *++next = end;
      if constexpr (kPeak) {
        if (op.allocated > 0) *last[op.stream]++ = {2 * start + 1, op.allocated};
        if (op.freed > 0) *last[op.stream]++ = {2 * end, -op.freed};
      }
    }
    for (std::size_t s = 0; s < kStreams; ++s) *last[s] = {kEnd, 0};
    return *std::max_element(ready.begin(), ready.end());
  }

  // Of the last Run<true>: the lists of the streams are in order of time, and what is freed comes first.
  Bytes Peak() {
    std::array<const Change*, kStreams> next;
    for (std::size_t s = 0; s < kStreams; ++s) next[s] = changes_[s].data();
    Bytes live = 0, peak = 0;
    while (true) {
      const Change** first = &next[0];
      for (std::size_t s = 1; s < kStreams; ++s) {
        if (next[s]->first < (*first)->first) first = &next[s];
      }
      if ((*first)->first == kEnd) return peak;
      live += (*first)->second;
      peak = std::max(peak, live);
      ++*first;
    }
  }

 private:
  static constexpr Nanos kEnd = std::numeric_limits<Nanos>::max();
  using Change = std::pair<Nanos, Bytes>;  // 2 x time, 1 more of an allocation

  std::vector<Op> ops_;
  std::vector<Nanos> ends_ = {0};  // by what Add answered
  std::array<std::vector<Change>, kStreams> changes_;
};

inline FlatLines<3> FlatTrainChain(int layers) {
  FlatLines<3> lines;
  const auto n = static_cast<std::size_t>(layers);
  std::vector<std::uint32_t> out(n), backward(n);
  std::uint32_t forward = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const int layer = static_cast<int>(i);
    forward = lines.Add({.duration = TrainChainForward(layer), .allocated = TrainChainBytes(layer)});
    out[i] = lines.Add(
        {.duration = TrainChainCopy(layer), .freed = TrainChainBytes(layer), .after = {forward}, .stream = 1});
  }
  for (std::size_t i = n; i-- > 0;) {
    const int layer = static_cast<int>(i);
    const std::uint32_t wanted = i + 3 < n ? backward[i + 3] : forward;
    const std::uint32_t in = lines.Add({.duration = TrainChainCopy(layer),
                                        .allocated = TrainChainBytes(layer),
                                        .after = {out[i], wanted},
                                        .stream = 2});
    backward[i] = lines.Add({.duration = 2 * TrainChainForward(layer), .freed = TrainChainBytes(layer), .after = {in}});
  }
  return lines;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_FLAT_LINES_H_
