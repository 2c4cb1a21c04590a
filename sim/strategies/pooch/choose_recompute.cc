// PoocH's step 2.
//
// With the timeline's overhead r(X) < 1 says exactly that the step gets shorter: both overheads are counted from one
// point, X swapped by copies that take no time. So every change gains, and the result is never slower than step 1's.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/strategies/pooch/search.h"

namespace spillway {
namespace {

struct Ratio {
  enum class Verdict { kHidden, kDoesNotFit, kEndless, kRatio };
  Verdict verdict = Verdict::kHidden;
  double value = 0;  // kRatio: r(X)
};

class Chooser {
 public:
  Chooser(Search& search, RecomputeOverhead overhead, Classes& classes)
      : search_(search), overhead_(overhead), classes_(classes) {}

  // REQUIRES: `x` is swapped in `classes`, whose time is `swapped`.
  Ratio RatioOf(std::int32_t x, Nanos swapped) {
    const Simulation instant = search_.Simulate(classes_, x);
    const Nanos swap_overhead = swapped - instant.total;
    if (swap_overhead <= 0) return {};
    classes_[Index(x)] = MapClass::kRecompute;
    const Simulation recomputed = search_.Simulate(classes_);
    classes_[Index(x)] = MapClass::kSwap;
    if (recomputed.endless) return {Ratio::Verdict::kEndless, 0};
    if (!recomputed.feasible) return {Ratio::Verdict::kDoesNotFit, 0};
    const Nanos recompute_overhead = overhead_ == RecomputeOverhead::kTimeline
                                         ? recomputed.total - instant.total
                                         : recomputed.backward_compute - instant.backward_compute;
    return {Ratio::Verdict::kRatio, static_cast<double>(recompute_overhead) / static_cast<double>(swap_overhead)};
  }

 private:
  Search& search_;
  const RecomputeOverhead overhead_;
  Classes& classes_;
};

std::string NoteOf(const Ratio& ratio) {
  switch (ratio.verdict) {
    case Ratio::Verdict::kHidden:
      return "swapping costs no time";
    case Ratio::Verdict::kDoesNotFit:
      return "recomputing does not fit";
    case Ratio::Verdict::kEndless:
      return "recomputing comes to no end";
    case Ratio::Verdict::kRatio:
      break;
  }
  return fmt::format("r = {:.2f} {} 1", ratio.value, ratio.value < 1 ? "<" : ">=");
}

std::vector<std::int32_t> Swapped(const PoochProfile& profile, const Classes& classes) {
  std::vector<std::int32_t> maps;
  for (std::size_t m = 0; m < classes.size(); ++m) {
    const bool candidate = profile.maps[m].Decidable() && !profile.maps[m].on_host;
    if (candidate && classes[m] == MapClass::kSwap) maps.push_back(static_cast<std::int32_t>(m));
  }
  return maps;
}

}  // namespace

Simulation ChooseRecompute(Search& search, RecomputeOverhead overhead, Classes& classes,
                           std::vector<std::string>& notes) {
  notes.assign(classes.size(), "");
  Chooser chooser(search, overhead, classes);
  std::vector<std::int32_t> open = Swapped(search.model->profile(), classes);
  Simulation now = search.Simulate(classes);
  while (!open.empty()) {
    std::vector<std::int32_t> still_open;
    std::int32_t best = -1;
    double best_ratio = 1;
    for (std::int32_t x : open) {
      const Ratio ratio = chooser.RatioOf(x, now.total);
      notes[Index(x)] = NoteOf(ratio);
      if (ratio.verdict != Ratio::Verdict::kRatio || ratio.value >= 1) continue;
      still_open.push_back(x);
      if (ratio.value < best_ratio) {
        best = x;
        best_ratio = ratio.value;
      }
    }
    if (best < 0) break;
    classes[Index(best)] = MapClass::kRecompute;
    now = search.Simulate(classes);
    std::erase(still_open, best);
    open = std::move(still_open);
  }
  return now;
}

}  // namespace spillway
