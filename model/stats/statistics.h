// Statistics of a few dozen noisy measurements that assume no distribution: bootstrap intervals, rank correlation, the
// sign test.
#ifndef SPILLWAY_MODEL_STATS_STATISTICS_H_
#define SPILLWAY_MODEL_STATS_STATISTICS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spillway {

// Measurements by the round in which they were taken. A disturbance of the machine lasts longer than one step, so
// measurements of one round are correlated. The bootstrap therefore draws whole rounds first.
using Rounds = std::vector<std::vector<double>>;
std::vector<double> Flat(const Rounds& rounds);  // all measurements, round after round

struct BootstrapOptions {
  int draws = 1000;  // resamples
  std::uint64_t seed = 1;
  double confidence = 0.95;  // probability between the two ends; the tails are equal
};
// The two ends of a confidence interval.
struct Spread {
  double low = 0, high = 0;
  bool operator==(const Spread&) const = default;
};
// Interval of the median, by a percentile bootstrap (Efron 1979) in two stages: it draws rounds with replacement, then
// measurements within each (Davison and Hinkley 1997, section 3.8). REQUIRES: at least one round; no round is empty.
Spread BootstrapMedian(const Rounds& rounds, const BootstrapOptions& options = {});
// Interval of Median(a) / Median(b). Round i of `a` and round i of `b` were one round, and are drawn together.
// REQUIRES: a.size() == b.size(); no round is empty; all values of `b` are positive.
Spread BootstrapRatio(const Rounds& a, const Rounds& b, const BootstrapOptions& options = {});
// Interval of the mean of all values. The values of a cluster, such as the points of one network, are correlated.
// Clusters are therefore drawn whole. REQUIRES: at least one cluster; no cluster is empty.
Spread BootstrapClusterMean(const std::vector<std::vector<double>>& clusters, const BootstrapOptions& options = {});

// Counts of pairs of items, by how two orders rank the pair (Kendall 1945). To compare pairs within groups only, count
// each group and add up the counts.
struct PairCounts {
  std::int64_t concordant = 0, discordant = 0;
  std::int64_t tied_first = 0, tied_second = 0;  // tied in that order only; pairs tied in both are not counted
  PairCounts& operator+=(const PairCounts& other);
  // Kendall's tau-b: (concordant - discordant) / sqrt(F x S). F and S are the numbers of pairs that are not tied in the
  // first and in the second order. 0 if F x S is 0.
  double Tau() const;
  std::int64_t Untied() const { return concordant + discordant; }
};
// Compares all pairs of items i, k by first[i], first[k] and second[i], second[k]. REQUIRES: equal sizes.
PairCounts CountPairs(std::span<const double> first, std::span<const double> second);

// The exact two-sided sign test: the probability that a fair coin falls at least as unevenly as wins to losses. 1 if
// there are neither.
double SignTest(std::int64_t wins, std::int64_t losses);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STATS_STATISTICS_H_
