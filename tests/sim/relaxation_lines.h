// The least code that simulates train_chain by relaxation, as a yardstick for the engines of sim/engine/simulate.h: one pass
// in the order in which the host issues, three clocks, no program to read. Without the memory peak, or with it: the changes
// of each stream are in order of time, so that three lists are merged. Of the four ops of a layer and nothing else.
#ifndef SPILLWAY_TESTS_SIM_RELAXATION_LINES_H_
#define SPILLWAY_TESTS_SIM_RELAXATION_LINES_H_

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "tests/sim/train_chain.h"

namespace spillway {

class RelaxationLines {
 public:
  explicit RelaxationLines(int layers) : n_(static_cast<std::size_t>(layers)), out_end_(n_), backward_end_(n_) {
    for (int i = 0; i < layers; ++i) {
      forward_.push_back(TrainChainForward(i));
      copy_.push_back(TrainChainCopy(i));
      bytes_.push_back(TrainChainBytes(i));
    }
    for (std::vector<Change>& list : changes_) list.reserve(2 * n_ + 1);
  }

  template <bool kPeak>
  Nanos Run() {
    Nanos compute = 0, out = 0, in = 0;
    for (std::vector<Change>& list : changes_) list.clear();
    for (std::size_t i = 0; i < n_; ++i) {
      if constexpr (kPeak) changes_[0].push_back({compute, bytes_[i]});
      compute += forward_[i];
      out = std::max(out, compute) + copy_[i];
      if constexpr (kPeak) changes_[1].push_back({out, -bytes_[i]});
      out_end_[i] = out;
    }
    const Nanos forward_end = compute;
    for (std::size_t i = n_; i-- > 0;) {
      const Nanos wanted = i + 3 < n_ ? backward_end_[i + 3] : forward_end;
      in = std::max({in, out_end_[i], wanted});
      if constexpr (kPeak) changes_[2].push_back({in, bytes_[i]});
      in += copy_[i];
      compute = std::max(compute, in) + 2 * forward_[i];
      if constexpr (kPeak) changes_[0].push_back({compute, -bytes_[i]});
      backward_end_[i] = compute;
    }
    return std::max({compute, out, in});
  }

  // Of the last Run<true>.
  Bytes Peak() {
    for (std::vector<Change>& list : changes_) list.push_back({kEnd, 0});
    std::array<const Change*, 3> next{changes_[0].data(), changes_[1].data(), changes_[2].data()};
    Bytes live = 0, peak = 0;
    while (true) {
      const Change** first = &next[0];
      if (Before(*next[1], **first)) first = &next[1];
      if (Before(*next[2], **first)) first = &next[2];
      if ((*first)->time == kEnd) return peak;
      live += (*first)->bytes;
      peak = std::max(peak, live);
      ++*first;
    }
  }

 private:
  static constexpr Nanos kEnd = std::numeric_limits<Nanos>::max();
  struct Change {
    Nanos time;
    Bytes bytes;
  };
  // At one instant what is freed comes first.
  static bool Before(const Change& a, const Change& b) {
    return a.time < b.time || (a.time == b.time && a.bytes < b.bytes);
  }

  std::size_t n_;
  std::vector<Nanos> forward_, copy_, out_end_, backward_end_;
  std::vector<Bytes> bytes_;
  std::array<std::vector<Change>, 3> changes_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_RELAXATION_LINES_H_
