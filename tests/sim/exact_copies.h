// The fastest schedule of ops, recomputations and copies of a small step, by live bytes: a search over all states.
//
// One kernel, one copy out and one copy in run at a time, and do not slow each other down. Each may start as soon as its
// operands are there and there is room. A value may leave as soon as nothing reads it. A Plan cannot say all of that, so an
// optimum may be out of reach for plans. The search shares no code with the planners.
//
// What is resident lies, between steps, on the device or on the host, whichever is better. On the device it stays
// throughout; from the host it comes at any time, stays for its uses, and its last version is there again at the end.
//
//   ExactCopies(step, times, 7 * kAllocationUnit).Optimum()    nanoseconds; 0: nothing fits
//
// REQUIRES: at most eight tensors, each written by one op and by ops in order. Those that are not resident move and may be
// recomputed; those that are resident are read first, and updates write them in place. Times and bytes are up to seven
// multiples of 512. A copy takes a nanosecond a byte.
#ifndef SPILLWAY_TESTS_SIM_EXACT_COPIES_H_
#define SPILLWAY_TESTS_SIM_EXACT_COPIES_H_

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/step/training_step.h"
#include "sim/program/program.h"

namespace spillway {

class ExactCopies {
 public:
  ExactCopies(const TrainingStep& step, const std::vector<Nanos>& times, Bytes capacity)
      : step_(step), units_(static_cast<int>(capacity / kUnit)) {
    for (const Tensor& t : step.tensors) size_.push_back(static_cast<int>(t.bytes / kUnit));
    for (unsigned t = 0; t < size_.size(); ++t) resident_ |= step.tensors[t].Traits().resident ? 1u << t : 0;
    last_use_.resize(size_.size(), 0);
    for (unsigned op = 0; op < Ops(); ++op) {
      for (unsigned t = 0; t < size_.size(); ++t) {
        if ((Reads(op) >> t & 1) == 0 && Result(op) != t) continue;
        last_use_[t] = op;
        may_rest_ |= resident_ & 1u << t;
      }
    }
    for (const Nanos time : times) times_.push_back(static_cast<int>(time / kUnit));
  }

  Nanos Optimum() {
    for (unsigned rest = 0; rest < 256; ++rest) {
      if ((rest & ~may_rest_) != 0) continue;
      State start{.device = resident_ & ~rest, .host = rest, .rest = rest};
      if (Live(start) <= units_) Reach(start, 0);
    }
    while (!queue_.empty()) {
      const auto [most, time, packed] = queue_.top();
      queue_.pop();
      if (known_.at(packed) < time) continue;
      const State state = Unpacked(packed);
      const bool rests = (state.rest & ~state.host) == 0;
      if (state.next == Ops() && state.kernel == kIdle && rests) return time * kUnit;
      Leave(state, time);
      if (state.kernel == kIdle) StartKernels(state, time);
      if (state.in == kIdle || state.out == kIdle) StartCopies(state, time);
      Advance(state, time);
    }
    return 0;
  }

 private:
  static constexpr Nanos kUnit = 512;
  static constexpr unsigned kIdle = 15;
  struct State {
    unsigned next = 0, device = 0, host = 0;              // the next op; values that are complete there, a bit each
    unsigned kernel = kIdle, in = kIdle, out = kIdle;     // the op that runs, the values that are copied
    unsigned kernel_left = 0, in_left = 0, out_left = 0;  // units of time
    unsigned rest = 0;                                    // values that lie on the host between steps, a bit each
  };
  static std::uint64_t Packed(const State& s) {
    std::uint64_t bits = 0;
    for (const unsigned field : {s.next, s.kernel, s.in, s.out, s.kernel_left, s.in_left, s.out_left}) {
      bits = bits << 4 | field;
    }
    return ((bits << 8 | s.rest) << 8 | s.device) << 8 | s.host;
  }
  static State Unpacked(std::uint64_t bits) {
    State s;
    s.host = bits & 255;
    s.device = bits >> 8 & 255;
    s.rest = bits >> 16 & 255;
    bits >>= 24;
    for (unsigned* field : {&s.out_left, &s.in_left, &s.kernel_left, &s.out, &s.in, &s.kernel, &s.next}) {
      *field = bits & 15;
      bits >>= 4;
    }
    return s;
  }

  unsigned Ops() const { return static_cast<unsigned>(step_.ops.size()); }
  unsigned Reads(unsigned op) const {
    unsigned bits = 0;
    for (const TensorId t : step_.ops[op].reads) bits |= 1u << Index(t);
    return bits;
  }
  unsigned Result(unsigned op) const { return static_cast<unsigned>(step_.ops[op].writes.front()); }
  bool InPlace(unsigned op) const { return (Reads(op) >> Result(op) & 1) != 0; }
  // Whether the value may be off the device.
  bool MayLeave(const State& s, unsigned t) const {
    if ((resident_ >> t & 1) == 0) return true;
    return (s.rest >> t & 1) != 0 && s.next > last_use_[t];
  }
  int Live(const State& s) const {
    int live = 0;
    for (std::size_t t = 0; t < size_.size(); ++t) live += (s.device >> t & 1) != 0 ? size_[t] : 0;
    if (s.in != kIdle) live += size_[s.in];
    if (s.kernel != kIdle && !InPlace(s.kernel)) live += size_[Result(s.kernel)];
    return live;
  }
  // What runs at least from here on: kernels that never ran.
  int Remaining(const State& s) const {
    int sum = 0;
    for (unsigned op = s.next; op < Ops(); ++op) sum += times_[op];
    return sum + static_cast<int>(s.kernel_left);
  }

  void Reach(const State& state, int time) {
    const std::uint64_t packed = Packed(state);
    const auto [found, fresh] = known_.try_emplace(packed, time);
    if (!fresh && found->second <= time) return;
    found->second = time;
    queue_.push({time + Remaining(state), time, packed});
  }

  void Leave(const State& state, int time) {
    for (unsigned t = 0; t < size_.size(); ++t) {
      const bool read = state.kernel != kIdle && (Reads(state.kernel) >> t & 1) != 0;
      if ((state.device >> t & 1) == 0 || read || state.out == t || !MayLeave(state, t)) continue;
      State less = state;
      less.device &= ~(1u << t);
      Reach(less, time);
    }
  }

  void StartKernels(const State& state, int time) {
    for (unsigned op = 0; op <= state.next && op < Ops(); ++op) {
      const unsigned result = Result(op);
      const bool there = (state.device >> result & 1) != 0 || state.in == result;
      const bool busy = InPlace(op) ? state.out == result : there;
      if (busy || (op < state.next && !step_.IsForward(static_cast<OpId>(op)))) continue;
      if ((Reads(op) & ~state.device) != 0 || Live(state) + (InPlace(op) ? 0 : size_[result]) > units_) continue;
      State after = state;
      if (InPlace(op)) after.host &= ~(1u << result);
      if (op == state.next) ++after.next;
      after.kernel = op;
      after.kernel_left = static_cast<unsigned>(times_[op]);
      Reach(after, time);
    }
  }

  bool MayGoOut(const State& s, unsigned t) const { return (resident_ >> t & 1) == 0 || (s.rest >> t & 1) != 0; }

  void StartCopies(const State& state, int time) {
    const unsigned made = state.kernel != kIdle ? 1u << Result(state.kernel) : 0;
    for (unsigned t = 0; t < size_.size(); ++t) {
      const bool device = (state.device >> t & 1) != 0, host = (state.host >> t & 1) != 0;
      State after = state;
      if (state.out == kIdle && device && !host && (made >> t & 1) == 0 && MayGoOut(state, t)) {
        after.out = t;
        after.out_left = static_cast<unsigned>(size_[t]);
        Reach(after, time);
      }
      if (state.in == kIdle && host && !device && (made >> t & 1) == 0 && Live(state) + size_[t] <= units_) {
        after = state;
        after.in = t;
        after.in_left = static_cast<unsigned>(size_[t]);
        Reach(after, time);
      }
    }
  }

  // To the next end of anything that runs.
  void Advance(const State& state, int time) {
    unsigned step = kIdle;
    if (state.kernel != kIdle) step = std::min(step, state.kernel_left);
    if (state.in != kIdle) step = std::min(step, state.in_left);
    if (state.out != kIdle) step = std::min(step, state.out_left);
    if (step == kIdle) return;
    State after = state;
    if (state.kernel != kIdle && (after.kernel_left -= step) == 0) {
      after.device |= 1u << Result(state.kernel);
      after.kernel = kIdle;
    }
    if (state.in != kIdle && (after.in_left -= step) == 0) {
      after.device |= 1u << state.in;
      after.in = kIdle;
    }
    if (state.out != kIdle && (after.out_left -= step) == 0) {
      after.host |= 1u << state.out;
      after.out = kIdle;
    }
    Reach(after, time + static_cast<int>(step));
  }

  const TrainingStep& step_;
  const int units_;
  std::vector<int> size_, times_;         // by tensor, by op; in units
  unsigned resident_ = 0, may_rest_ = 0;  // a bit each; those on the host between steps, which some op uses
  std::vector<unsigned> last_use_;        // by tensor
  std::unordered_map<std::uint64_t, int> known_;
  struct Reached {
    int most = 0, time = 0;  // of the whole step at least, and so far
    std::uint64_t state = 0;
    bool operator<(const Reached& other) const {
      return std::tie(other.most, time, state) < std::tie(most, other.time, other.state);
    }
  };
  std::priority_queue<Reached> queue_;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_EXACT_COPIES_H_
