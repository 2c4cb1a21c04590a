#include "sim/strategies/best/rung_searches.h"

#include <algorithm>
#include <iterator>

namespace spillway {

namespace {

using From = RungSearch::From;

constexpr double kHot = 0.0012, kCold = 0.00015;
// What the bound's cut copies and recomputes is near the optimum already, as is the fastest plan found so far: from there it
// is a cold search, as hot it would be lost at once. Where addresses cost memory, the rungs below are those that fit in the
// end; the last ones are for where nothing that was found does.
constexpr RungSearch kSearches[] = {
    // on the coarse ladder
    {0, From::kAllKept, kHot, 18, true, true},
    {1, From::kAllKept, kHot, 18, true, true},
    {0, From::kCut, kCold, 9, true, true},
    {1, From::kCut, kCold, 9, true, true},
    {1, From::kFastest, kCold, 12},
    {1, From::kFastest, kCold, 10},
    // the usual ones
    {2, From::kAllKept, kHot, 25},
    {1, From::kCut, kCold, 15},
    {1, From::kFastest, kCold, 15},
    {1, From::kAllKept, kHot, 25},
    // the others
    {4, From::kAllKept, kHot, 25, false},
    {8, From::kAllKept, kHot, 25, false},
    {kLowestRung, From::kAllKept, kHot, 25, false},
};
constexpr std::size_t kShared = 6, kOwn = 4;  // of the usual ones
constexpr RungSearch kAround{.hottest = kCold / 2, .percent = 1};
constexpr std::int64_t kSettling = 3000;  // judgements around what each has found, at most

}  // namespace

std::vector<RungSearch> RungSearches(SearchList list) {
  std::vector<RungSearch> searches(std::begin(kSearches), std::end(kSearches));
  const auto shared = searches.begin(), own = shared + kShared, others = own + kOwn;
  if (list == SearchList::kOwn) searches.erase(shared, own);
  if (list == SearchList::kShared) searches.erase(own, others);
  return searches;
}

Annealed SearchRung(GapModel& model, const OpenChoices& open, const GapChoices& start, const RungSearch& search,
                    std::int64_t judgements, std::uint64_t seed, bool insist, const std::stop_token& stop) {
  const AnnealingOptions options{.judgements = std::max<std::int64_t>(1, judgements * search.percent / 100),
                                 .hottest = search.hottest,
                                 .seed = seed,
                                 .insist = insist,
                                 .stop = stop};
  Annealed found = Anneal(model, open, start, options);
  if (!stop.stop_requested()) Settle(model, open, kSettling, found);
  return found;
}

Annealed SearchAround(GapModel& model, const OpenChoices& open, const GapChoices& found, std::int64_t judgements,
                      std::uint64_t seed) {
  return SearchRung(model, open, found, kAround, judgements, seed, false);
}

}  // namespace spillway
