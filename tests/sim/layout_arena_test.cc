// The gaps that an arena tells of, with windows and leaves or without, against all of its buffers looked at.
#include "sim/program/layout/layout_arena.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "model/util/random.h"

namespace spillway {
namespace {

struct Placed {
  Lifetime life;
  Bytes at = 0;
};

using Gaps = std::vector<std::pair<Bytes, Bytes>>;

// As Arena::ForEachGap, from a list. `own`: of the list, not there.
Gaps GapsIn(const std::vector<Placed>& placed, const Lifetime& life, Bytes base, const Placed* own) {
  Gaps meeting, gaps;
  for (const Placed& other : placed) {
    const bool meets = other.life.first < life.last && life.first < other.life.last;
    if (meets && &other != own) meeting.push_back({other.at, other.at + other.life.bytes});
  }
  std::sort(meeting.begin(), meeting.end());
  Bytes at = base;
  for (const auto& [begin, end] : meeting) {
    if (begin - at >= life.bytes) gaps.push_back({at, begin});
    at = std::max(at, end);
  }
  gaps.push_back({at, std::numeric_limits<Bytes>::max()});
  return gaps;
}

Gaps GapsIn(const Arena& arena, const Lifetime& life, Bytes own = -1) {
  Gaps gaps;
  arena.ForEachGap(
      life,
      [&gaps](Bytes begin, Bytes end) {
        gaps.push_back({begin, end});
        return false;
      },
      own);
  return gaps;
}

// Mostly tiles of a few items, some that live long.
Lifetime RandomLifetime(std::int32_t items, Random& random) {
  const auto longest = random.Below(20) == 0 ? items / 2 : 30;
  const auto length = random.Between(1, longest);
  const auto first = random.Between(0, items - length - 1);
  return {.buffer = 0, .bytes = random.Between(1, 50), .first = first, .last = first + length};
}

}  // namespace

TEST_CASE("an arena of many buffers, put and moved at random, has the gaps that a list of them has") {
  for (const std::uint32_t most : {300u, 3000u, 6000u}) {  // one leaf; several; and windows
    Random random(most);
    const auto items = static_cast<std::int32_t>(3 * most);
    const Bytes base = 100;
    Arena arena(most, items, base);
    std::vector<Placed> placed;
    int moved = 0;
    const auto some_gap = [&](const Gaps& gaps) {
      return gaps[random.Below(static_cast<std::uint32_t>(gaps.size()))].first;
    };
    for (std::uint32_t k = 0; k < most; ++k) {
      const Lifetime life = RandomLifetime(items, random);
      const Gaps gaps = GapsIn(arena, life);
      REQUIRE(gaps == GapsIn(placed, life, base, nullptr));
      REQUIRE(arena.Lowest(life) == gaps.front().first);
      placed.push_back({life, some_gap(gaps)});
      arena.Put(life, placed.back().at);
      if (k % 3 != 0) continue;
      Placed& other = placed[random.Below(static_cast<std::uint32_t>(placed.size()))];
      const Gaps without = GapsIn(arena, other.life, other.at);
      REQUIRE(without == GapsIn(placed, other.life, base, &other));
      const Bytes to = some_gap(without);
      moved += to != other.at ? 1 : 0;
      arena.Move(other.life, other.at, to);
      other.at = to;
    }
    CHECK(moved > 0);
    Bytes peak = 0;
    for (const Placed& one : placed) peak = std::max(peak, one.at + one.life.bytes);
    CHECK(arena.peak() >= peak);
  }
}

}  // namespace spillway
