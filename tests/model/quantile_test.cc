#include "model/stats/quantile.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "model/stats/deviates.h"
#include "model/util/hash.h"

namespace spillway {
namespace {

struct Sample {
  std::vector<double> x, y;  // y shorter
};

// x normal, y a line of it plus independent noise.
Sample Draw(std::uint64_t seed, double slope, double noise, std::size_t few) {
  Sample sample;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    sample.x.push_back(NormalDeviate(Hasher(seed).Add("x").Add(i).Value()));
    if (i >= few) continue;
    const double own = NormalDeviate(Hasher(seed).Add("y").Add(i).Value());
    sample.y.push_back(100 + slope * sample.x[i] + noise * own);
  }
  return sample;
}

TEST_CASE("of a sample: the value at its rank") {
  CHECK(NearestRank({110, 109, 108, 107, 106, 105, 104, 103, 102, 101, 100}, 0.1) == 101);
  CHECK(NearestRank({110, 109, 108, 107, 106, 105, 104, 103, 102, 101, 100}, 0.9) == 109);
  CHECK(NearestRank({7}, 0.5) == 7);
}

TEST_CASE("what is a line of the proxy has the proxy's quantiles") {
  Sample sample = Draw(1, 0, 0, 0);
  for (std::size_t i = 0; i < 64; ++i) sample.y.push_back(3 + 2 * sample.x[i]);
  for (const double p : {0.1, 0.5, 0.9}) {
    CHECK(QuantileByProxy(sample.y, sample.x, p) == Approx(3 + 2 * NearestRank(sample.x, p)).margin(0.01));
  }
}

TEST_CASE("with noise the quantile is the sum's, known better than from the few values alone") {
  const double truth = 100 + 1.2815515655 * std::sqrt(10 * 10 + 2 * 2.0);
  double by_proxy = 0, plain = 0, mean = 0;
  constexpr int kSeeds = 60;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Sample sample = Draw(seed, 10, 2, 128);
    const double estimate = QuantileByProxy(sample.y, sample.x, 0.9);
    mean += estimate / kSeeds;
    by_proxy += std::pow(estimate - truth, 2) / kSeeds;
    plain += std::pow(NearestRank(sample.y, 0.9) - truth, 2) / kSeeds;
  }
  CHECK(std::sqrt(by_proxy) < 0.4 * std::sqrt(plain));
  CHECK(mean == Approx(truth).margin(0.2));
}

// Like max(compute, transfer): flat below, rising above.
TEST_CASE("where the line bends each end has its own") {
  Sample sample = Draw(3, 0, 0, 0);
  const auto bent = [](double x) { return std::max(100.0, 100 + 5 * x); };
  for (std::size_t i = 0; i < 128; ++i) sample.y.push_back(bent(sample.x[i]) + (i % 2 == 0 ? 0.1 : -0.1));
  CHECK(QuantileByProxy(sample.y, sample.x, 0.1) == Approx(99.9).margin(0.6));
  CHECK(QuantileByProxy(sample.y, sample.x, 0.9) == Approx(bent(1.28)).margin(0.6));
}

TEST_CASE("a proxy that says nothing leaves the few values their quantile") {
  Sample sample = Draw(4, 0, 2, 128);
  sample.x.assign(sample.x.size(), 5.0);
  CHECK(QuantileByProxy(sample.y, sample.x, 0.9) == NearestRank(sample.y, 0.9));
}

}  // namespace
}  // namespace spillway
