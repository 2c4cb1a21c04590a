// The finaliser of SplitMix64 (Steele et al., OOPSLA 2014): random numbers by index, without a generator's state.
#ifndef SPILLWAY_CALIBRATE_RUN_SPLIT_MIX_H_
#define SPILLWAY_CALIBRATE_RUN_SPLIT_MIX_H_

#include <cstdint>

namespace spillway {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

constexpr std::uint64_t SplitMix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_SPLIT_MIX_H_
