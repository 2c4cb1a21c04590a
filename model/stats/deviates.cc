#include "model/stats/deviates.h"

#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <cassert>
#include <cmath>
#include <numbers>

#include "model/util/hash.h"

namespace spillway {
namespace {

constexpr std::uint32_t kMask = kDraws - 1;
constexpr int kHalfOfBits = 6;  // of the twelve that number a draw
static_assert(kDraws == 1U << (2 * kHalfOfBits));
constexpr int kMixes = 4;

double Uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// The middle of each stratum.
std::array<double, kDraws> Quantiles() {
  std::array<double, kDraws> quantiles{};
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double share = (i + 0.5) / kDraws;
    quantiles[i] = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * share);
  }
  return quantiles;
}

}  // namespace

// Multiplying by an odd number, adding and folding the upper half onto the lower are permutations of twelve bits.
std::uint32_t StratumOf(std::uint64_t key, std::uint32_t draw) {
  assert(draw < kDraws);
  std::uint32_t at = draw;
  for (int mix = 0; mix < kMixes; ++mix) {
    key = key * 0xD1342543DE82EF95u + 0xF1357AEA2E62A9C5u;
    const auto bits = static_cast<std::uint32_t>(key >> 32);
    at = (at * (bits | 1U) + (bits >> 16)) & kMask;
    at ^= at >> kHalfOfBits;
  }
  return at;
}

double StratifiedDeviate(std::uint64_t key, std::uint32_t draw) {
  static const std::array<double, kDraws> quantiles = Quantiles();
  return quantiles[StratumOf(key, draw)];
}

// Box and Muller.
double NormalDeviate(std::uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(Uniform(Hasher(key).Add(std::uint64_t{1}).Value())));
  return radius * std::cos(2 * std::numbers::pi * Uniform(Hasher(key).Add(std::uint64_t{2}).Value()));
}

}  // namespace spillway
