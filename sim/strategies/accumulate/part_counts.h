// Which numbers of batch parts to try, so that the answer does not hang on what divides the batch.
//
// First those of PartsOf, from the fewest. If none fits, the most there may be. Then between the largest number that does
// not fit and the smallest that does, halving until the two are neighbours; then beside the fastest, until the numbers on
// either side of it were tried.
//
//   PartCounts counts(PartsOf(126, 64), 64);      1 2 3 6 7 9 14 18 21 42 63, of which 6 and more fit
//   while (auto parts = counts.Next()) counts.Tried(*parts, Try(*parts));     then 4, which is the fastest, and 5
#ifndef SPILLWAY_SIM_STRATEGIES_ACCUMULATE_PART_COUNTS_H_
#define SPILLWAY_SIM_STRATEGIES_ACCUMULATE_PART_COUNTS_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

class PartCounts {
 public:
  // `first`: ascending, at least one. `most`: of the numbers tried.
  PartCounts(std::vector<std::int64_t> first, std::int64_t most);
  // The number to try next; nullopt: no other one is worth it.
  std::optional<std::int64_t> Next() const;
  static constexpr Nanos kNotJudged = std::numeric_limits<Nanos>::max();  // of a step that cannot be the fastest
  // The time of a step in so many parts; nullopt: it does not fit.
  void Tried(std::int64_t parts, std::optional<Nanos> time) { tried_[parts] = time; }
  std::vector<std::int64_t> Fitting() const { return Of(true); }  // of those judged
  std::vector<std::int64_t> NotFitting() const { return Of(false); }

 private:
  using Place = std::map<std::int64_t, std::optional<Nanos>>::const_iterator;
  std::vector<std::int64_t> Of(bool fitting) const;
  std::int64_t Below(Place at) const;  // the largest tried, or the one before all
  std::int64_t Above(Place at) const;

  std::vector<std::int64_t> first_;
  std::int64_t most_;
  std::map<std::int64_t, std::optional<Nanos>> tried_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_ACCUMULATE_PART_COUNTS_H_
