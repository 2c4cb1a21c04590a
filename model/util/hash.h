// Hashes, and random numbers by index, that are the same on every machine and in every run. All that is hashed here goes
// through these; what runs on a GPU repeats one of them (calibrate/devices/cuda/plugin/element.h).
#ifndef SPILLWAY_MODEL_UTIL_HASH_H_
#define SPILLWAY_MODEL_UTIL_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/cost/launch.h"

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

// What is computed: everything of the launch but algorithm and workspace. The draws of sim/uncertainty/ hang on it: another
// function gives other intervals, within their standard error.
inline std::uint64_t HashOfWork(const Launch& l) {
  Hasher hash;
  const auto add = [&hash](std::int64_t value) { hash.Add(static_cast<std::uint64_t>(value)); };
  add(static_cast<std::int64_t>(l.kind) | static_cast<std::int64_t>(l.pass) << 8 |
      static_cast<std::int64_t>(l.type) << 16 | static_cast<std::int64_t>(l.math) << 24 |
      static_cast<std::int64_t>(l.layout) << 32 | static_cast<std::int64_t>(l.accumulate) << 40);
  for (const Shape* s : {&l.shape.in, &l.shape.out}) {
    for (const std::int64_t size : {s->n, s->c, s->d, s->h, s->w}) add(size);
  }
  const std::array<std::int64_t, 3> before = l.shape.PadBegin(), after = l.shape.PadEnd();
  for (const auto* sizes : {&l.shape.window, &l.shape.stride, &before}) {
    for (const std::int64_t size : *sizes) add(size);
  }
  for (std::size_t k = 0; after != before && k < after.size(); ++k) add(after[k]);
  add(l.shape.groups);
  add(l.shape.operands);
  if (l.shape.recorded != 0) add(l.shape.recorded);
  return hash.Value();
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UTIL_HASH_H_
