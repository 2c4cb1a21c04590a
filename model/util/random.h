// Random numbers that are the same on every machine: the standard library's distributions are not.
#ifndef SPILLWAY_MODEL_UTIL_RANDOM_H_
#define SPILLWAY_MODEL_UTIL_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace spillway {

// xorshift64* (Marsaglia 2003, Vigna 2014): good enough for orders, random plans and resampling. Copies go on alike; one
// object is not for several threads.
class Random {
 public:
  // 0 is a seed like any other.
  explicit Random(std::uint64_t seed) : state_(seed * 2685821657736338717u + 1) {}
  // In [0, bound). REQUIRES: bound > 0. Small numbers are likelier by bound / 2^31 at most.
  std::uint32_t Below(std::uint32_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 2685821657736338717u >> 33) % bound);
  }
  // In [low, high].
  std::int32_t Between(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(Below(static_cast<std::uint32_t>(high - low + 1)));
  }
  bool Chance(double share) { return Below(1'000'000) < share * 1e6; }

 private:
  std::uint64_t state_;
};

// Every order is equally likely (Fisher and Yates).
template <typename T>
void Shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t left = items.size(); left > 1; --left) {
    std::swap(items[left - 1], items[random.Below(static_cast<std::uint32_t>(left))]);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_RANDOM_H_
