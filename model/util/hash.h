// Hashes, and random numbers by index, that are the same on every machine and in every run. All that is hashed here goes
// through these; what runs on a GPU repeats one of them (calibrate/devices/cuda/plugin/own_kernels.h).
#ifndef SPILLWAY_MODEL_UTIL_HASH_H_
#define SPILLWAY_MODEL_UTIL_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spillway {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): its finaliser, and the step between its states. SplitMix(k * kGolden),
// k = 1, 2, ..., are the generator's numbers from the seed 0.
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;
constexpr std::uint64_t SplitMix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv, section 2): finds changes of a text; not for anything that an
// adversary has a hand in.
constexpr std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3u;
  }
  return hash;
}

// Multiply and xor-shift over numbers, finished as SplitMix64 is. The order of what is added counts.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 1) : state_(seed) {}
  Hasher& Add(std::uint64_t value) {
    state_ = (state_ ^ value) * kGolden;
    state_ ^= state_ >> 29;
    return *this;
  }
  Hasher& Add(std::string_view text) {
    for (const char c : text) Add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return Add(text.size());
  }
  std::uint64_t Value() const { return SplitMix(state_); }

 private:
  std::uint64_t state_;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_HASH_H_
