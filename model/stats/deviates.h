// Standard normal deviates that depend on their key and the number of the draw alone, spread evenly.
//
// Latin hypercube sampling (McKay, Beckman and Conover, Technometrics 21, 1979): the kDraws draws of one key are the
// middles of kDraws strata of equal probability, each once, in an order that the key decides. So all kDraws draws of a
// single cause together have mean 0 and its quantiles exactly, and only how causes meet is left to chance; of fewer
// draws that holds no better than of any.
#ifndef SPILLWAY_MODEL_STATS_DEVIATES_H_
#define SPILLWAY_MODEL_STATS_DEVIATES_H_

#include <cstdint>

namespace spillway {

constexpr std::uint32_t kDraws = 4096;  // strata of a key; a power of two

// Which stratum draw number `draw` of `key` lies in: for each key a permutation of [0, kDraws). REQUIRES: draw < kDraws.
std::uint32_t StratumOf(std::uint64_t key, std::uint32_t draw);

// REQUIRES: draw < kDraws.
double StratifiedDeviate(std::uint64_t key, std::uint32_t draw);

// A standard normal deviate of the key alone, for those who draw without end.
double NormalDeviate(std::uint64_t key);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STATS_DEVIATES_H_
