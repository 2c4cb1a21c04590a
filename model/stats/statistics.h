// What a few dozen noisy measurements say, without assuming how they are distributed.
#ifndef SPILLWAY_MODEL_STATS_STATISTICS_H_
#define SPILLWAY_MODEL_STATS_STATISTICS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

// Measurements in the rounds in which they were taken: what happens to a machine lasts longer than one step, so
// measurements of one round resemble each other and count for less than as many of different rounds.
using Rounds = std::vector<std::vector<double>>;
std::vector<double> Flat(const Rounds& rounds);

struct BootstrapOptions {
  int draws = 1000;
  std::uint64_t seed = 1;
  double confidence = 0.95;
};
struct Spread {
  double low = 0, high = 0;
  bool operator==(const Spread&) const = default;
};
// Percentile bootstrap (Efron 1979) in two stages: rounds are drawn with replacement, then measurements in each
// (Davison and Hinkley 1997, section 3.8). REQUIRES: at least one round, none empty.
Spread BootstrapMedian(const Rounds& rounds, const BootstrapOptions& options = {});
// Of Median(a) / Median(b), for a and b measured in the same rounds, which are drawn together.
// REQUIRES: as many rounds in both, none empty; b > 0.
Spread BootstrapRatio(const Rounds& a, const Rounds& b, const BootstrapOptions& options = {});
// Of the mean. Clusters (a network's points, say) are drawn whole: what they have in common is no news.
// REQUIRES: at least one cluster, none empty.
Spread BootstrapClusterMean(const std::vector<std::vector<double>>& clusters, const BootstrapOptions& options = {});

// How far two orders agree (Kendall 1945). Counts may be added up over groups within which alone pairs are compared.
struct PairCounts {
  std::int64_t concordant = 0, discordant = 0;
  std::int64_t tied_first = 0, tied_second = 0;  // in that one alone
  PairCounts& operator+=(const PairCounts& other);
  // tau-b: (concordant - discordant) / sqrt(pairs not tied in the first x pairs not tied in the second); 0 where that
  // is 0 / 0.
  double Tau() const;
  std::int64_t Untied() const { return concordant + discordant; }
};
// REQUIRES: equal sizes.
PairCounts CountPairs(std::span<const double> first, std::span<const double> second);

// Chance that a fair coin falls at least as unevenly as wins : losses, either way (sign test, two-sided, exact). 1 for
// no throws.
double SignTest(std::int64_t wins, std::int64_t losses);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STATS_STATISTICS_H_
