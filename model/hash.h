// Hashes that are the same on every machine and in every run.
#ifndef SPILLWAY_MODEL_HASH_H_
#define SPILLWAY_MODEL_HASH_H_

#include <cstdint>
#include <string_view>

#include "model/cost/launch.h"

namespace spillway {

// Multiply and xor-shift over numbers (constants of splitmix64).
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed = 1) : state_(seed) {}
  Hasher& Add(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 29;
    return *this;
  }
  Hasher& Add(std::string_view text) {
    for (const char c : text) Add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return Add(text.size());
  }
  std::uint64_t Value() const {
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_;
};

// What is computed: everything of the launch but algorithm and workspace.
inline std::uint64_t HashOfWork(const Launch& l) {
  Hasher hash;
  const auto add = [&hash](std::int64_t value) { hash.Add(static_cast<std::uint64_t>(value)); };
  add(static_cast<std::int64_t>(l.kind) | static_cast<std::int64_t>(l.pass) << 8 |
      static_cast<std::int64_t>(l.type) << 16 | static_cast<std::int64_t>(l.math) << 24 |
      static_cast<std::int64_t>(l.layout) << 32 | static_cast<std::int64_t>(l.accumulate) << 40);
  for (const Shape* s : {&l.shape.in, &l.shape.out}) {
    for (const std::int64_t size : {s->n, s->c, s->d, s->h, s->w}) add(size);
  }
  for (const auto* sizes : {&l.shape.window, &l.shape.stride, &l.shape.pad}) {
    for (const std::int64_t size : *sizes) add(size);
  }
  add(l.shape.groups);
  add(l.shape.operands);
  return hash.Value();
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_HASH_H_
