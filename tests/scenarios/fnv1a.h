// FNV-1a, 64 bits: a short stand-in for a text that is too long to keep, the same on every platform. Finds changes;
// not for anything an adversary has a hand in. Fowler, Noll, Vo; draft-eastlake-fnv, section 2.
#ifndef SPILLWAY_TESTS_SCENARIOS_FNV1A_H_
#define SPILLWAY_TESTS_SCENARIOS_FNV1A_H_

#include <cstdint>
#include <string_view>

namespace spillway {

constexpr std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SCENARIOS_FNV1A_H_
