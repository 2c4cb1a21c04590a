// Statistics of measurements, against values worked out by hand.
#include "model/stats/statistics.h"

#include <catch2/catch.hpp>

#include "model/stats/quantile.h"

namespace spillway {
namespace {

TEST_CASE("quantiles lie between order statistics") {
  CHECK(Median({3}) == 3);
  CHECK(Median({4, 1, 3}) == 3);
  CHECK(Median({4, 1, 3, 2}) == 2.5);
  CHECK(Quantile({10, 20, 30, 40, 50}, 0.25) == 20);
  CHECK(Quantile({10, 20}, 0.25) == 12.5);
  CHECK(Quantile({10, 20, 30}, 0) == 10);
  CHECK(Quantile({10, 20, 30}, 1) == 30);
}

TEST_CASE("the bootstrap of values that are all alike is a point") {
  CHECK(BootstrapMedian({{7, 7}, {7}}) == Spread{7, 7});
  CHECK(BootstrapRatio({{8, 8}, {8}}, {{2}, {2, 2}}) == Spread{4, 4});
  CHECK(BootstrapClusterMean({{3, 3}, {3}}) == Spread{3, 3});
}

TEST_CASE("the bootstrap of two rounds sees both") {
  // Half of the draws take one round twice (medians 1 or 3), half take both (median of 1 1 3 3: 2).
  CHECK(BootstrapMedian({{1, 1}, {3, 3}}) == Spread{1, 3});
  // The same rounds of both are drawn, so a machine that is three times slower in one of them changes no ratio.
  CHECK(BootstrapRatio({{2, 2}, {6, 6}}, {{1, 1}, {3, 3}}) == Spread{2, 2});
  CHECK(BootstrapClusterMean({{1}, {1}, {1}, {1}, {9, 9, 9, 9}}).low == 1);
}

TEST_CASE("the bootstrap interval holds the median and narrows with more measurements") {
  const auto rounds_of = [](int rounds) {
    Rounds all;
    for (int r = 0; r < rounds; ++r) all.push_back({10.0 + r % 3, 10.0 + (r + 1) % 3, 10.0 + (2 * r) % 3});
    return all;
  };
  const Spread few = BootstrapMedian(rounds_of(3)), many = BootstrapMedian(rounds_of(300));
  CHECK(few.low <= 11);
  CHECK(few.high >= 11);
  CHECK(many.high - many.low < few.high - few.low);
  CHECK(BootstrapMedian(rounds_of(5)) == BootstrapMedian(rounds_of(5)));
  CHECK_FALSE(BootstrapMedian({{1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}}, {.draws = 5, .seed = 1}) ==
              BootstrapMedian({{1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}}, {.draws = 5, .seed = 2}));
}

double Tau(const std::vector<double>& a, const std::vector<double>& b) { return CountPairs(a, b).Tau(); }

TEST_CASE("Kendall's tau-b") {
  CHECK(Tau({1, 2, 3}, {10, 20, 30}) == 1);
  CHECK(Tau({1, 2, 3}, {30, 20, 10}) == -1);
  CHECK(Tau({1, 2, 3, 4}, {1, 2, 4, 3}) == Approx(4.0 / 6));  // 5 pairs agree, 1 does not
  // Ties: of 6 pairs one is tied in the first (1, 1), one in the second (2, 2); 4 agree. 4 / sqrt(5 x 5)
  CHECK(Tau({1, 1, 2, 3}, {1, 2, 2, 3}) == Approx(0.8));
  CHECK(Tau({1, 1}, {2, 3}) == 0);
  CHECK(Tau({1, 1}, {2, 2}) == 0);
  CHECK(Tau({}, {}) == 0);
}

TEST_CASE("pairs are compared within groups") {
  PairCounts counts = CountPairs(std::vector<double>{1, 2}, std::vector<double>{5, 6});
  counts += CountPairs(std::vector<double>{100, 200}, std::vector<double>{2, 1});
  CHECK(counts.concordant == 1);
  CHECK(counts.discordant == 1);
  CHECK(counts.Tau() == 0);
}

TEST_CASE("the sign test") {
  CHECK(SignTest(0, 0) == 1);
  CHECK(SignTest(5, 5) == 1);
  CHECK(SignTest(5, 0) == Approx(2.0 / 32));
  CHECK(SignTest(0, 5) == Approx(2.0 / 32));
  CHECK(SignTest(9, 1) == Approx(22.0 / 1024));  // 2 x (1 + 10) / 1024
  CHECK(SignTest(600, 400) < 1e-9);
}

}  // namespace
}  // namespace spillway
