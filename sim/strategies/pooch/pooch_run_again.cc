// Runs from the middle of a traced one: what SwapAlternatives asks.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "sim/strategies/pooch/pooch_run.h"

namespace spillway {

namespace {

// By how much compute is earlier, where the lane, idle or not, is earlier by as much.
std::optional<Nanos> ShiftOf(Nanos was_compute, Nanos was_lane, Nanos compute, Nanos lane) {
  const Nanos shift = was_compute - compute;
  if (std::max(was_lane, was_compute) - std::max(lane, compute) != shift) return std::nullopt;
  return shift;
}

// Whether what is on its way ends earlier by `shift`: `now`, from row `k` on, than `was`, rows [begin, end).
template <typename Row>
bool EndEarlier(const std::vector<Row>& was, std::size_t begin, std::size_t end, const std::vector<Row>& now,
                std::size_t k, Nanos shift) {
  for (std::size_t row = begin; row < end; ++row, ++k) {
    if (was[row].end - now[k].end != shift) return false;
  }
  return true;
}

template <typename Value>
auto At(const std::vector<Value>& values, std::size_t k) {
  return values.begin() + static_cast<std::ptrdiff_t>(k);
}

// Goes along a trace beside which the lane is earlier by `ahead`, and compute by `need` less. What the lane is given there
// ends earlier by `ahead` too, as long as it is never idle (slack). Where compute waited for it, it waits for less, and
// comes nearer; where it waited for what ends earlier by no more than compute is, it waits as long.
struct Ahead {
  Nanos ahead, need;

  // `need` behind a wait, 0 or less where that is not known. `earlier`: by how much what compute waits for ends earlier.
  Nanos Behind(Nanos wait, Nanos earlier) const {
    if (wait == 0) return need;
    if (earlier == ahead) return need - wait;
    return earlier == ahead - need ? need : 0;
  }
};

// Maps are looked at so many at once, without a branch, so that compilers vectorise it.
constexpr std::size_t kBlock = 64;

// By map: whether it is there at the start of the timing.
class Availability {
 public:
  Availability(const RunTrace& base, std::span<const std::int32_t> last_timing, std::int32_t timing)
      : came_(base.came), last_(last_timing), timing_(timing) {}

  void Write(std::vector<std::uint8_t>& available) const {
    for (std::size_t m = 0; m < came_.size(); m += kBlock) {
      const Block block = BlockAt(m);
      std::memcpy(&available[m], block.data(), std::min(kBlock, came_.size() - m));
    }
  }
  bool Is(const std::vector<std::uint8_t>& available) const {
    for (std::size_t m = 0; m < came_.size(); m += kBlock) {
      const Block block = BlockAt(m);
      if (std::memcmp(&available[m], block.data(), std::min(kBlock, came_.size() - m)) != 0) return false;
    }
    return true;
  }

 private:
  using Block = std::array<std::uint8_t, kBlock>;
  Block BlockAt(std::size_t m) const {
    Block block;
    if (m + kBlock > came_.size()) {
      for (std::size_t k = m; k < came_.size(); ++k) block[k - m] = Of(k);
      return block;
    }
    for (std::size_t k = 0; k < kBlock; ++k) block[k] = Of(m + k);
    return block;
  }
  std::uint8_t Of(std::size_t m) const {
    return static_cast<std::uint8_t>(static_cast<unsigned>(came_[m] < timing_) &
                                     static_cast<unsigned>(last_[m] >= timing_));
  }
  std::span<const std::int32_t> came_, last_;
  std::int32_t timing_;
};

}  // namespace

// s_.pending holds the swap-outs that are on their way; as many of the trace's as `gone` were before them. The one that is
// left out counts among those as soon as it and all before it have ended in both.
Nanos PoochModel::Run::ForwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from,
                                    std::int32_t left_out, Nanos whole) {
  const RunTrace::Forward& start = base.forward[Index(from)];
  compute_ = start.compute, lane_ = start.lane, live_ = start.live, oldest_ = 0;
  std::size_t gone = start.oldest;
  s_.pending.assign(At(of.pending, start.oldest), At(of.pending, start.pending));
  for (std::size_t op = Index(from);;) {
    StepForward(p_.forward[op]);
    if (++op == p_.forward.size()) break;
    const RunTrace::Forward& was = base.forward[op];
    if (left_out >= 0) {
      if (was.oldest <= Index(left_out) || gone + oldest_ < Index(left_out)) continue;
      ++gone;
      left_out = -1;
    }
    const std::optional<Nanos> shift = ShiftOf(was.compute, was.lane, compute_, lane_);
    const bool same = shift && live_ == was.live && gone + oldest_ == was.oldest;
    if (same && EndEarlier(of.pending, was.oldest, was.pending, s_.pending, oldest_, *shift)) return whole - *shift;
    op = SkipForward(base, of, op, gone);
  }
  EndForward();
  return result_.forward;
}

// Goes on to the first op of which it is not known where it would stand at its end.
std::size_t PoochModel::Run::SkipForward(const RunTrace& base, const SimulationScratch& of, std::size_t op,
                                         std::size_t& gone) {
  const RunTrace::Forward& was = base.forward[op];
  Ahead skip{was.lane - lane_, compute_ - was.compute + was.lane - lane_};
  if (compute_ > was.compute || skip.need <= 0) return op;
  const std::size_t known = gone + s_.pending.size();
  const auto earlier = [&](std::size_t k) { return of.pending[k].end - s_.pending[k - gone].end; };
  std::size_t next = op;
  for (;; ++next) {
    while (base.forward_room[next] >= skip.need) ++next;
    const Nanos wait = base.forward_wait[next];
    Nanos by = skip.ahead;
    if (wait > 0) {
      const std::size_t last = base.forward[next + 1].oldest - 1;
      if (last < gone + oldest_) break;
      if (last < known) by = earlier(last);
    }
    const Nanos behind = skip.Behind(wait, by);
    if (behind <= 0 || base.forward_slack[next] < behind) break;  // what leaves does so when the op is done
    skip.need = behind;
  }
  if (next == op) return op;
  const RunTrace::Forward& there = base.forward[next];
  const std::size_t still_gone = std::max(gone + oldest_, there.oldest);
  oldest_ = std::min(still_gone, known) - gone;
  if (still_gone > known) {  // all of them have ended
    s_.pending.clear();
    gone = still_gone;
    oldest_ = 0;
  }
  for (std::size_t k = std::max(still_gone, known); k < there.pending; ++k) {
    s_.pending.push_back({of.pending[k].map, of.pending[k].end - skip.ahead});
  }
  compute_ = there.compute - (skip.ahead - skip.need), lane_ = there.lane - skip.ahead, live_ = there.live;
  for (std::size_t k = there.oldest; k < still_gone; ++k) live_ -= p_.maps[Index(of.pending[k].map)].bytes;
  return next;
}

// What is issued together with a copy that takes no time, behind it, ends earlier by what it took.
void PoochModel::Run::IssueWithout(const SimulationScratch& of, std::size_t instant) {
  const SimulationScratch::SwapIn& own = of.swap_ins[instant];
  const Nanos earlier = own.end - own.start;
  for (issued_ = instant; issued_ < of.swap_ins.size() && of.swap_ins[issued_].issue == own.issue; ++issued_) {
    lane_ = s_.swap_ins[issued_].end = of.swap_ins[issued_].end - earlier;
  }
}

Nanos PoochModel::Run::BackwardAgain(const RunTrace& base, const SimulationScratch& of, std::int32_t from,
                                     std::int32_t calm, std::size_t instant, Nanos whole) {
  const RunTrace::Backward& start = base.backward[Index(from)];
  compute_ = start.compute, lane_ = start.lane, issued_ = start.issued, arrived_ = start.arrived;
  std::size_t changed = issued_;  // swap-ins, from this one on
  if (of.swap_ins[instant].issue == from) {
    changed = instant;
    IssueWithout(of, instant);
  }
  Nanos total = -1;
  for (std::int32_t k = from; k < Count(p_.timings.size()) && total < 0;) {
    StepBackward(k);
    if (++k <= calm || k == Count(p_.timings.size())) continue;
    const RunTrace::Backward& was = base.backward[Index(k)];
    const std::optional<Nanos> shift = ShiftOf(was.compute, was.lane, compute_, lane_);
    if (shift && EndEarlier(of.swap_ins, arrived_, issued_, s_.swap_ins, arrived_, *shift)) {
      total = whole - *shift;
    } else {
      k = SkipBackward(base, of, k, changed);
    }
  }
  RestoreSwapIns(of, changed, issued_);
  return total < 0 ? compute_ : total;
}

// As SkipForward, of swap-ins.
std::int32_t PoochModel::Run::SkipBackward(const RunTrace& base, const SimulationScratch& of, std::int32_t k,
                                           std::size_t& changed) {
  const RunTrace::Backward& was = base.backward[Index(k)];
  Ahead skip{was.lane - lane_, compute_ - was.compute + was.lane - lane_};
  if (compute_ > was.compute || skip.need <= 0) return k;
  const std::size_t known = issued_;
  std::size_t next = Index(k);
  for (;; ++next) {
    while (base.backward_room[next] >= skip.need) ++next;
    const Nanos wait = base.backward_wait[next];
    Nanos by = skip.ahead;
    if (wait > 0) {
      const std::size_t last = base.backward[next + 1].arrived - 1;
      if (last < known) by = of.swap_ins[last].end - s_.swap_ins[last].end;
    }
    const Nanos behind = skip.Behind(wait, by);
    if (behind <= 0 || base.backward_slack[next] < skip.need) break;  // what comes in is issued before the wait
    skip.need = behind;
  }
  const RunTrace::Backward& there = base.backward[next];
  issued_ = there.issued, arrived_ = there.arrived;
  RestoreSwapIns(of, changed, std::min(known, arrived_));
  changed = std::max(changed, arrived_);
  for (std::size_t i = std::max(known, arrived_); i < issued_; ++i)
    s_.swap_ins[i].end = of.swap_ins[i].end - skip.ahead;
  compute_ = there.compute - (skip.ahead - skip.need), lane_ = there.lane - skip.ahead;
  return static_cast<std::int32_t>(next);
}

void PoochModel::Run::RestoreSwapIns(const SimulationScratch& of, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  std::copy(At(of.swap_ins, begin), At(of.swap_ins, end), s_.swap_ins.begin() + static_cast<std::ptrdiff_t>(begin));
}

Simulation PoochModel::Run::WalkAgain(const RunTrace& base, const SimulationScratch& of,
                                      std::span<const std::int32_t> last_timing, std::int32_t map, std::int32_t* end) {
  const RunTrace::MapTrace& asked = base.maps[Index(map)];
  Availability(base, last_timing, asked.first).Write(s_.available);
  live_ = base.walk[Index(asked.first)].live;
  visits_ = base.walk[Index(asked.first)].visits;
  s_.swap_ins.clear();
  for (std::int32_t k = asked.first; k < Count(p_.timings.size()); ++k) {
    if (!WalkTiming(k)) return result_;
    *end = k + 1;
    result_.backward_compute += s_.recompute[Index(k)] - of.recompute[Index(k)];
    if (k < asked.last || k + 1 == Count(p_.timings.size())) continue;
    const RunTrace::Walk& was = base.walk[Index(k + 1)];
    if (live_ != was.live || !Availability(base, last_timing, k + 1).Is(s_.available)) continue;
    visits_ += base.visits - was.visits;
    result_.endless = IsEndless();
    break;
  }
  result_.feasible = !result_.endless;
  return result_;
}

// What was not walked is as in the trace.
void PoochModel::Run::CompleteWalk(const RunTrace& base, const SimulationScratch& of, std::int32_t begin,
                                   std::int32_t end) {
  const auto from = [&of](std::int32_t timing) {
    return std::partition_point(of.swap_ins.begin(), of.swap_ins.end(),
                                [timing](const SimulationScratch::SwapIn& row) { return row.need < timing; });
  };
  s_.swap_ins.insert(s_.swap_ins.begin(), of.swap_ins.begin(), from(begin));
  s_.swap_ins.insert(s_.swap_ins.end(), from(end), of.swap_ins.end());
  const auto complete = [begin, end](const auto& was, auto& now) {
    std::copy(was.begin(), At(was, Index(begin)), now.begin());
    std::copy(At(was, Index(end)), was.end(), now.begin() + end);
  };
  complete(base.load, s_.load);
  complete(of.recompute, s_.recompute);
}

Nanos PoochModel::Run::BackwardOfWalk(const RunTrace& base, const SimulationScratch& of, std::int32_t begin,
                                      std::int32_t end, Nanos whole) {
  CompleteWalk(base, of, begin, end);
  IssueSwapIns(p_, options_.rule, s_);
  const auto alike = [](const SimulationScratch::SwapIn& a, const SimulationScratch::SwapIn& b) {
    return a.map == b.map && a.need == b.need && a.issue == b.issue;
  };
  const auto [was, now] =
      std::mismatch(of.swap_ins.begin(), of.swap_ins.end(), s_.swap_ins.begin(), s_.swap_ins.end(), alike);
  std::copy(of.swap_ins.begin(), was, s_.swap_ins.begin());  // their times
  std::int32_t from = begin;
  if (was != of.swap_ins.end()) from = std::min(from, was->issue);
  if (now != s_.swap_ins.end()) from = std::min(from, now->issue);
  const auto last =
      std::mismatch(of.swap_ins.rbegin(), of.swap_ins.rend(), s_.swap_ins.rbegin(), s_.swap_ins.rend(), alike).first;
  const auto last_alike = static_cast<std::size_t>(last.base() - of.swap_ins.begin());
  const RunTrace::Backward& start = base.backward[Index(from)];
  compute_ = start.compute, lane_ = start.lane, issued_ = start.issued, arrived_ = start.arrived;
  for (std::int32_t k = from; k < Count(p_.timings.size());) {
    StepBackward(k);
    if (++k < end || k == Count(p_.timings.size())) continue;
    const RunTrace::Backward& there = base.backward[Index(k)];
    if (there.arrived < last_alike || of.swap_ins.size() - there.arrived != s_.swap_ins.size() - arrived_) continue;
    const std::optional<Nanos> shift = ShiftOf(there.compute, there.lane, compute_, lane_);
    const bool same = shift && EndEarlier(of.swap_ins, there.arrived, there.issued, s_.swap_ins, arrived_, *shift);
    if (same) return whole - *shift;
  }
  return compute_;
}

}  // namespace spillway
