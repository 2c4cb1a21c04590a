#include <algorithm>
#include <cstddef>
#include <limits>

#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {
namespace {

class Rules {
 public:
  Rules(const PoochProfile& profile, SimulationScratch& scratch) : p_(profile), s_(scratch) {}
  void IssueOneAhead();
  void IssueWhenRoom();
  void IssueBursts();
  void IssueAtConvolutions();

 private:
  Bytes BytesOf(std::size_t swap_in) const { return p_.maps[Index(s_.swap_ins[swap_in].map)].bytes; }
  std::size_t GroupEnd(std::size_t p, Bytes* bytes) const;

  const PoochProfile& p_;
  SimulationScratch& s_;
};

// Swap-ins [p, end) are those for one timing.
std::size_t Rules::GroupEnd(std::size_t p, Bytes* bytes) const {
  const std::int32_t need = s_.swap_ins[p].need;
  for (*bytes = 0; p < s_.swap_ins.size() && s_.swap_ins[p].need == need; ++p) *bytes += BytesOf(p);
  return p;
}

void Rules::IssueOneAhead() {
  for (std::size_t p = 0; p < s_.swap_ins.size();) {
    Bytes bytes = 0;
    const std::size_t end = GroupEnd(p, &bytes);
    const std::int32_t need = s_.swap_ins[p].need;
    const bool ahead = need > 0 && s_.load[Index(need - 1)] + bytes <= p_.capacity;
    for (; p < end; ++p) s_.swap_ins[p].issue = ahead ? need - 1 : need;
  }
}

// With swap-ins 0 .. p issued, timing k holds load[k] plus those of them that are needed after k, that is
//   load[k] - (bytes needed up to k) + (bytes issued).
// Swap-in p may be issued from the timing after the last one before its need where that exceeds the capacity. The
// stack keeps the timings whose first two terms no later timing reaches, largest first.
void Rules::IssueWhenRoom() {
  s_.stack.clear();
  std::int32_t seen = 0, issue = 0;
  std::size_t due = 0;
  Bytes due_bytes = 0, issued = 0;
  for (std::size_t p = 0; p < s_.swap_ins.size(); ++p) {
    for (; seen < s_.swap_ins[p].need; ++seen) {
      for (; s_.swap_ins[due].need <= seen; ++due) due_bytes += BytesOf(due);
      s_.load[Index(seen)] -= due_bytes;
      while (!s_.stack.empty() && s_.load[Index(s_.stack.back())] <= s_.load[Index(seen)]) s_.stack.pop_back();
      s_.stack.push_back(seen);
    }
    issued += BytesOf(p);
    const Bytes limit = p_.capacity - issued;
    const auto room = std::partition_point(s_.stack.begin(), s_.stack.end(),
                                           [&](std::int32_t k) { return s_.load[Index(k)] > limit; });
    if (room != s_.stack.begin()) issue = std::max(issue, *(room - 1) + 1);
    s_.swap_ins[p].issue = issue;
  }
}

void Rules::IssueBursts() {
  Bytes issued = 0;
  std::size_t p = 0;
  for (std::int32_t burst = 0; p < s_.swap_ins.size();) {
    for (; p < s_.swap_ins.size() && s_.swap_ins[p].need <= burst; ++p) {  // there was no room for it before
      s_.swap_ins[p].issue = s_.swap_ins[p].need;
      issued += BytesOf(p);
    }
    std::int32_t next = burst + 1;
    std::size_t due = p;  // everything issued so far is needed up to `burst`
    Bytes due_bytes = issued, most = std::numeric_limits<Bytes>::min() / 2;
    for (std::int32_t k = burst; p < s_.swap_ins.size();) {
      for (; k < s_.swap_ins[p].need; ++k) {
        for (; s_.swap_ins[due].need <= k; ++due) due_bytes += BytesOf(due);
        most = std::max(most, s_.load[Index(k)] - due_bytes);
      }
      Bytes bytes = 0;
      const std::size_t end = GroupEnd(p, &bytes);
      next = std::max(next, s_.swap_ins[p].need - 1);
      if (most + issued + bytes > p_.capacity) break;
      for (; p < end; ++p) s_.swap_ins[p].issue = burst;
      issued += bytes;
    }
    burst = next;
  }
}

void Rules::IssueAtConvolutions() {
  std::int32_t seen = 0, convolution = 0;
  for (SimulationScratch::SwapIn& swap_in : s_.swap_ins) {
    for (; seen < swap_in.need; ++seen) {
      if (p_.timings[Index(seen)].convolution) convolution = seen;
    }
    swap_in.issue = convolution;
  }
}

}  // namespace

void IssueSwapIns(const PoochProfile& profile, SwapInRule rule, SimulationScratch& scratch) {
  Rules rules(profile, scratch);
  switch (rule) {
    case SwapInRule::kOneAhead:
      return rules.IssueOneAhead();
    case SwapInRule::kWhenRoom:
      return rules.IssueWhenRoom();
    case SwapInRule::kBursts:
      return rules.IssueBursts();
    case SwapInRule::kPreviousConvolution:
      return rules.IssueAtConvolutions();
  }
}

void DelaySwapIns(SimulationScratch& scratch) {
  for (SimulationScratch::SwapIn& swap_in : scratch.swap_ins) {
    for (std::int32_t k = swap_in.need; k > swap_in.issue; --k) {
      if (scratch.timing_clock[Index(k)] <= swap_in.start) swap_in.issue = k;
    }
  }
}

}  // namespace spillway
