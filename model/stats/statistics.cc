#include "model/stats/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "model/stats/quantile.h"
#include "model/util/random.h"

namespace spillway {

namespace {

std::uint32_t Count(std::size_t size) { return static_cast<std::uint32_t>(size); }

void DrawFrom(const std::vector<double>& values, Random& random, std::vector<double>& drawn) {
  for (std::size_t k = 0; k < values.size(); ++k) drawn.push_back(values[random.Below(Count(values.size()))]);
}

// The interval between the outer quantiles of what `draw` returns.
Spread Percentiles(const BootstrapOptions& options, const std::function<double(Random&)>& draw) {
  Random random(options.seed);
  std::vector<double> results;
  for (int k = 0; k < options.draws; ++k) results.push_back(draw(random));
  const double tail = (1 - options.confidence) / 2;
  return {Quantile(results, tail), Quantile(results, 1 - tail)};
}

}  // namespace

std::vector<double> Flat(const Rounds& rounds) {
  std::vector<double> all;
  for (const std::vector<double>& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return all;
}

Spread BootstrapMedian(const Rounds& rounds, const BootstrapOptions& options) {
  std::vector<double> drawn;
  return Percentiles(options, [&](Random& random) {
    drawn.clear();
    for (std::size_t k = 0; k < rounds.size(); ++k) DrawFrom(rounds[random.Below(Count(rounds.size()))], random, drawn);
    return Median(drawn);
  });
}

Spread BootstrapRatio(const Rounds& a, const Rounds& b, const BootstrapOptions& options) {
  assert(a.size() == b.size());
  std::vector<double> from_a, from_b;
  return Percentiles(options, [&](Random& random) {
    from_a.clear();
    from_b.clear();
    for (std::size_t k = 0; k < a.size(); ++k) {
      const std::size_t round = random.Below(Count(a.size()));
      DrawFrom(a[round], random, from_a);
      DrawFrom(b[round], random, from_b);
    }
    return Median(from_a) / Median(from_b);
  });
}

Spread BootstrapClusterMean(const std::vector<std::vector<double>>& clusters, const BootstrapOptions& options) {
  return Percentiles(options, [&](Random& random) {
    double sum = 0, count = 0;
    for (std::size_t k = 0; k < clusters.size(); ++k) {
      for (const double value : clusters[random.Below(Count(clusters.size()))]) {
        sum += value;
        ++count;
      }
    }
    return sum / count;
  });
}

PairCounts& PairCounts::operator+=(const PairCounts& other) {
  concordant += other.concordant;
  discordant += other.discordant;
  tied_first += other.tied_first;
  tied_second += other.tied_second;
  return *this;
}

double PairCounts::Tau() const {
  const auto untied_first = static_cast<double>(Untied() + tied_second);
  const auto untied_second = static_cast<double>(Untied() + tied_first);
  const double pairs = std::sqrt(untied_first * untied_second);
  return pairs > 0 ? static_cast<double>(concordant - discordant) / pairs : 0;
}

PairCounts CountPairs(std::span<const double> first, std::span<const double> second) {
  assert(first.size() == second.size());
  PairCounts counts;
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const bool tied_first = first[i] == first[k], tied_second = second[i] == second[k];
      if (tied_first && tied_second) continue;
      if (tied_first) {
        ++counts.tied_first;
      } else if (tied_second) {
        ++counts.tied_second;
      } else {
        ++((first[i] < first[k]) == (second[i] < second[k]) ? counts.concordant : counts.discordant);
      }
    }
  }
  return counts;
}

double SignTest(std::int64_t wins, std::int64_t losses) {
  const std::int64_t throws = wins + losses;
  const std::int64_t fewer = std::min(wins, losses);
  double tail = 0;
  double log_choose = 0;  // of `k` among `throws`
  for (std::int64_t k = 0; k <= fewer; ++k) {
    if (k > 0) log_choose += std::log(static_cast<double>(throws - k + 1)) - std::log(static_cast<double>(k));
    tail += std::exp(log_choose - static_cast<double>(throws) * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace spillway
