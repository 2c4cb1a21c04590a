// Two tiers of tests. The quick tier runs before every change: a part of the random cases, a third of the strategies. The
// deep tier runs before an issue is resolved: all of them, and the cases tagged [deep]. `./test --deep` asks for it.
//
//   for (int seed = 0; seed < Cases(50, 200); ++seed) ...
//   for (const Strategy& strategy : Drawn(Strategies())) ...
#ifndef SPILLWAY_TESTS_DEEP_H_
#define SPILLWAY_TESTS_DEEP_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "model/util/random.h"

namespace spillway {

// SPILLWAY_DEEP is set. CTest lists [deep] cases by the same variable (cmake/list_cases.cmake).
inline bool Deep() { return std::getenv("SPILLWAY_DEEP") != nullptr; }

// How many random cases there are, or what is expected of that many.
template <typename Number>
Number Cases(Number quick, Number deep) {
  return Deep() ? deep : quick;
}

// SPILLWAY_SEED. ./test takes it from the commit, so that the same commit draws the same and other commits draw others. Without
// it the seed is 0.
inline std::uint64_t DrawnSeed() {
  const char* seed = std::getenv("SPILLWAY_SEED");
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

// One of each `of` neighbours, in their order; all in the deep tier. The seed draws them.
template <typename T>
std::vector<std::reference_wrapper<const T>> Drawn(const std::vector<T>& all, std::size_t of = 3) {
  Random random(DrawnSeed());
  std::vector<std::reference_wrapper<const T>> drawn;
  for (std::size_t first = 0; first < all.size(); first += of) {
    const std::size_t count = std::min(of, all.size() - first);
    const std::size_t chosen = first + random.Below(static_cast<std::uint32_t>(count));
    for (std::size_t k = first; k < first + count; ++k) {
      if (Deep() || k == chosen) drawn.push_back(all[k]);
    }
  }
  return drawn;
}
template <typename T>
void Drawn(const std::vector<T>&& all, std::size_t of = 3) = delete;  // what is drawn refers to it

}  // namespace spillway

#endif  // SPILLWAY_TESTS_DEEP_H_
