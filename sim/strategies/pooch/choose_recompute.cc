// PoocH's step 2.
//
// With the timeline's overhead r(X) < 1 says exactly that the step gets shorter: both overheads are counted from one
// point, X swapped by copies that take no time. So every change gains, and the result is never slower than step 1's.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "hw/text/units.h"
#include "sim/strategies/pooch/pooch_alternatives.h"
#include "sim/strategies/pooch/search.h"

namespace spillway {
namespace {

struct Ratio {
  enum class Verdict { kHidden, kDoesNotFit, kEndless, kRatio };
  Verdict verdict = Verdict::kHidden;
  double value = 0;  // kRatio: r(X)
};

Ratio RatioOf(const Simulation& recomputed, Nanos recompute_overhead, Nanos swap_overhead) {
  if (recomputed.endless) return {Ratio::Verdict::kEndless, 0};
  if (!recomputed.feasible) return {Ratio::Verdict::kDoesNotFit, 0};
  return {Ratio::Verdict::kRatio, static_cast<double>(recompute_overhead) / static_cast<double>(swap_overhead)};
}

// RecomputeOverhead::kTimeline.
class Chooser {
 public:
  Chooser(Search& search, Classes& classes) : search_(search), classes_(classes) {}

  // REQUIRES: `x` is swapped in `classes`, whose time is `swapped`.
  Ratio RatioOf(std::int32_t x, Nanos swapped) {
    const Simulation instant = search_.Simulate(classes_, x);
    const Nanos swap_overhead = swapped - instant.total;
    if (swap_overhead <= 0) return {};
    classes_[Index(x)] = MapClass::kRecompute;
    const Simulation recomputed = search_.Simulate(classes_);
    classes_[Index(x)] = MapClass::kSwap;
    return spillway::RatioOf(recomputed, recomputed.total - instant.total, swap_overhead);
  }

 private:
  Search& search_;
  Classes& classes_;
};

// RecomputeOverhead::kCompute. REQUIRES: `x` is swapped in what `alternatives` set out from.
Ratio ComputeRatioOf(std::int32_t x, SwapAlternatives& alternatives) {
  const Simulation instant = alternatives.Instant(x);
  const Nanos swap_overhead = alternatives.base().total - instant.total;
  if (swap_overhead <= 0) return {};
  const Simulation recomputed = alternatives.Recomputed(x);
  return RatioOf(recomputed, recomputed.backward_compute - instant.backward_compute, swap_overhead);
}

// r(X) where recomputing X gains time, 1 where it does not: mostly seen without swapping it by instant copies.
class Gains {
 public:
  Gains(Search& search, Classes& classes) : alternatives_(search), classes_(classes) { alternatives_.SetOut(classes); }

  double RatioOf(std::int32_t x) {
    const Nanos recomputed = alternatives_.RecomputedInTime(x, now().total).total;
    if (recomputed >= now().total) return 1;
    const Nanos instant = alternatives_.Instant(x).total;
    if (instant >= now().total) return 1;
    return static_cast<double>(recomputed - instant) / static_cast<double>(now().total - instant);
  }
  void Recompute(std::int32_t x) {
    classes_[Index(x)] = MapClass::kRecompute;
    alternatives_.SetOut(classes_);
  }
  const Simulation& now() const { return alternatives_.base(); }

 private:
  SwapAlternatives alternatives_;
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
    const bool candidate = profile.maps[m].Recomputable();
    if (candidate && classes[m] == MapClass::kSwap) maps.push_back(static_cast<std::int32_t>(m));
  }
  return maps;
}

// The map of `open` with the least ratio below 1, -1 = none. Takes out those that gain nothing.
std::int32_t TakeLeastRatio(const Search& search, std::int64_t stop, Gains& gains, std::vector<std::int32_t>& open) {
  std::vector<std::int32_t> still_open;
  std::int32_t best = -1;
  double least = 1;
  for (std::size_t i = 0; i < open.size() && search.simulations < stop; ++i) {
    const double ratio = gains.RatioOf(open[i]);
    if (ratio >= 1) continue;
    still_open.push_back(open[i]);
    if (ratio >= least) continue;
    best = open[i];
    least = ratio;
  }
  open = std::move(still_open);
  std::erase(open, best);
  return best;
}

}  // namespace

Simulation ChooseRecompute(Search& search, RecomputeOverhead overhead, Classes& classes,
                           std::vector<std::string>& notes) {
  notes.assign(classes.size(), "");
  Chooser chooser(search, classes);
  std::optional<SwapAlternatives> alternatives;
  if (overhead == RecomputeOverhead::kCompute) alternatives.emplace(search);
  const auto simulate = [&] { return alternatives ? alternatives->SetOut(classes) : search.Simulate(classes); };
  std::vector<std::int32_t> open = Swapped(search.model->profile(), classes);
  const std::vector<std::int32_t> all = open;
  std::vector<Ratio> ratios(classes.size());  // by map: the last one
  Simulation now = simulate();
  while (!open.empty()) {
    std::vector<std::int32_t> still_open;
    std::int32_t best = -1;
    double best_ratio = 1;
    for (std::int32_t x : open) {
      const Ratio ratio = alternatives ? ComputeRatioOf(x, *alternatives) : chooser.RatioOf(x, now.total);
      ratios[Index(x)] = ratio;
      if (ratio.verdict != Ratio::Verdict::kRatio || ratio.value >= 1) continue;
      still_open.push_back(x);
      if (ratio.value < best_ratio) {
        best = x;
        best_ratio = ratio.value;
      }
    }
    if (best < 0) break;
    classes[Index(best)] = MapClass::kRecompute;
    now = simulate();
    std::erase(still_open, best);
    open = std::move(still_open);
  }
  for (const std::int32_t x : all) notes[Index(x)] = NoteOf(ratios[Index(x)]);
  return now;
}

Simulation ChooseRecomputeWithin(Search& search, std::int64_t most, Classes& classes) {
  const std::int64_t stop = search.simulations + most;
  Gains gains(search, classes);
  std::vector<std::int32_t> open = Swapped(search.model->profile(), classes);
  bool changed = false;  // since `open` held every swapped map
  for (;;) {
    const std::int32_t best = TakeLeastRatio(search, stop, gains, open);
    if (best >= 0) {
      gains.Recompute(best);
      changed = true;
    } else if (changed && search.simulations < stop) {
      open = Swapped(search.model->profile(), classes);
      changed = false;
    } else {
      return gains.now();
    }
  }
}

std::vector<std::string> NotesAt(Search& search, const Classes& classes, Bytes found_for) {
  std::vector<std::string> notes(classes.size());
  Classes changed = classes;
  Chooser chooser(search, changed);
  const Nanos total = search.Simulate(classes).total;
  const std::string made = fmt::format(" here, decided for {}", FormatBytes(found_for));
  const auto note = [&](std::size_t m, const Ratio& ratio) {
    const bool pays = ratio.verdict == Ratio::Verdict::kRatio && ratio.value < 1;
    notes[m] = NoteOf(ratio) + (pays == (classes[m] == MapClass::kRecompute) ? "" : made);
  };
  for (const std::int32_t x : Swapped(search.model->profile(), classes)) note(Index(x), chooser.RatioOf(x, total));
  for (std::size_t m = 0; m < classes.size(); ++m) {
    if (classes[m] != MapClass::kRecompute) continue;
    changed[m] = MapClass::kSwap;
    const Simulation swapped = search.Simulate(changed);
    if (swapped.feasible) {
      note(m, chooser.RatioOf(static_cast<std::int32_t>(m), swapped.total));
    } else {
      notes[m] = "swapping does not fit";
    }
    changed[m] = MapClass::kRecompute;
  }
  return notes;
}

}  // namespace spillway
