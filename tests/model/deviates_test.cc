#include "model/stats/deviates.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "model/util/hash.h"

namespace spillway {
namespace {

std::uint64_t Key(std::uint64_t i) { return Hasher(i).Add("a key").Value(); }

TEST_CASE("the draws of a key hit every stratum once") {
  for (std::uint64_t key = 0; key < 50; ++key) {
    std::vector<bool> hit(kDraws, false);
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) hit[StratumOf(Key(key), draw)] = true;
    CHECK(hit == std::vector<bool>(kDraws, true));
  }
}

TEST_CASE("stratified deviates are standard normal") {
  double sum = 0, squares = 0, below = 0;
  for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
    const double z = StratifiedDeviate(Key(1), draw);
    sum += z;
    squares += z * z;
    below += z < -1.2815515655 ? 1 : 0;  // the 10th percentile
  }
  CHECK(sum / kDraws == Approx(0).margin(1e-12));
  CHECK(squares / kDraws == Approx(1).epsilon(0.002));  // the outermost strata's middles lie inside their means
  CHECK(below / kDraws == Approx(0.1).margin(1.0 / kDraws));
}

// Of independent samples of 4096 a correlation has a standard deviation of 1/64.
TEST_CASE("deviates of two keys have nothing to do with each other, in whole or in the first hundred draws") {
  constexpr std::uint64_t kKeys = 40;
  for (const std::uint32_t draws : {128U, kDraws}) {
    double squares = 0, worst = 0;
    for (std::uint64_t a = 0; a < kKeys; ++a) {
      for (std::uint64_t b = 0; b < a; ++b) {
        double product = 0;
        for (std::uint32_t i = 0; i < draws; ++i)
          product += StratifiedDeviate(Key(a), i) * StratifiedDeviate(Key(b), i);
        const double in_deviations = product / std::sqrt(static_cast<double>(draws));
        squares += in_deviations * in_deviations;
        worst = std::max(worst, std::abs(in_deviations));
      }
    }
    CHECK(squares / (kKeys * (kKeys - 1) / 2.0) == Approx(1).epsilon(0.25));  // of 780 pairs
    CHECK(worst < 4.5);
  }
}

}  // namespace
}  // namespace spillway
