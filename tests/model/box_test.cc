#include "model/step/box.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

namespace spillway {
namespace {

std::int64_t From(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

Box RandomBox(std::mt19937& random, const Box& within) {
  Box box = within;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (From(random, 0, 2) == 0) continue;
    box.begin[axis] = From(random, within.begin[axis], within.end[axis] - 1);
    box.end[axis] = From(random, box.begin[axis] + 1, within.end[axis]);
  }
  return box;
}

// Every place of `box`, the last axis fastest.
template <typename F>
void ForEachPlace(const Box& box, F f) {
  std::array<std::int64_t, kAxes> at = box.begin;
  for (std::int64_t k = 0; k < box.Elements(); ++k) {
    f(at);
    for (std::size_t axis = kAxes; axis-- > 0;) {
      if (++at[axis] < box.end[axis]) break;
      at[axis] = box.begin[axis];
    }
  }
}

std::size_t OffsetIn(const Box& held, const std::array<std::int64_t, kAxes>& place) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < kAxes; ++axis) offset = offset * held.Size(axis) + place[axis] - held.begin[axis];
  return static_cast<std::size_t>(offset);
}

bool Has(const Box& box, const std::array<std::int64_t, kAxes>& place) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (place[axis] < box.begin[axis] || place[axis] >= box.end[axis]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a box is copied as its places are") {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    Tensor tensor;
    tensor.shape = {From(random, 1, 3), From(random, 1, 4), From(random, 1, 2), From(random, 1, 5), From(random, 1, 4)};
    const Bytes element = From(random, 1, 4);
    tensor.bytes = element * tensor.shape.Elements();
    const Box box = RandomBox(random, WholeOf(tensor.shape));
    Box from = WholeOf(tensor.shape), to = box;  // a tile that has a border of padding
    for (std::size_t axis = 2; axis < kAxes; ++axis)
      to.begin[axis] -= From(random, 0, 1), to.end[axis] += From(random, 0, 1);
    if (round % 2 == 0) std::swap(from, to);
    std::vector<std::uint16_t> source(static_cast<std::size_t>(from.Elements() * element)), wanted, found;
    for (std::size_t k = 0; k < source.size(); ++k) source[k] = static_cast<std::uint16_t>(k + 1);
    found = wanted = std::vector<std::uint16_t>(static_cast<std::size_t>(to.Elements() * element), 0);
    ForEachPlace(box, [&](const auto& place) {
      for (std::size_t byte = 0; byte < static_cast<std::size_t>(element); ++byte) {
        wanted[OffsetIn(to, place) * static_cast<std::size_t>(element) + byte] =
            source[OffsetIn(from, place) * static_cast<std::size_t>(element) + byte];
      }
    });
    const BoxRuns runs = RunsOf(tensor, from, to, box);
    ForEachRun(runs, [&](Bytes from_offset, Bytes to_offset, Bytes run) {
      std::copy_n(source.begin() + from_offset, run, found.begin() + to_offset);
    });
    INFO("round " << round << " box " << BoxText(box));
    REQUIRE(found == wanted);
    REQUIRE(runs.Total() == BytesOf(tensor, box));
  }
}

TEST_CASE("what lies together is one run") {
  Tensor tensor;
  tensor.shape = {4, 3, 1, 5, 6};
  tensor.bytes = 4 * tensor.shape.Elements();
  const Box whole = WholeOf(tensor.shape);
  const BoxRuns samples = RunsOf(tensor, whole, whole, WithRange(whole, kBatchAxis, 1, 3));
  CHECK(samples.loops.empty());
  CHECK(samples.from_offset == 4 * 90);
  CHECK(samples.run == 4 * 180);
  const BoxRuns channels = RunsOf(tensor, whole, whole, WithRange(whole, kChannelAxis, 1, 3));
  REQUIRE(channels.loops.size() == 1);
  CHECK(channels.run == 4 * 60);
  CHECK(channels.loops[0].count == 4);
  CHECK(channels.loops[0].from_pitch == 4 * 90);
  const BoxRuns rows = RunsOf(tensor, whole, whole, WithRange(whole, kHeightAxis, 0, 2));
  REQUIRE(rows.loops.size() == 1);  // of samples and channels in one
  CHECK(rows.loops[0].count == 12);
  const Box tile = WithRange(WithRange(whole, kHeightAxis, 0, 2), kChannelAxis, 0, 2);
  CHECK(RunsOf(tensor, whole, whole, tile).loops.size() == 2);
  CHECK(RunsOf(tensor, tile, tile, tile).loops.empty());
}

TEST_CASE("boxes meet and are cut out of each other as sets of places are") {
  std::mt19937 random(2);
  const Box within = WholeOf({2, 3, 2, 3, 2});
  for (int round = 0; round < 500; ++round) {
    const Box a = RandomBox(random, within), b = RandomBox(random, within);
    const std::vector<Box> rest = Without(a, b);
    ForEachPlace(within, [&](const auto& place) {
      int in_rest = 0;
      for (const Box& box : rest) in_rest += Has(box, place) ? 1 : 0;
      REQUIRE(in_rest == (Has(a, place) && !Has(b, place) ? 1 : 0));
      REQUIRE(Has(Intersection(a, b), place) == (Has(a, place) && Has(b, place)));
    });
    REQUIRE(Contains(within, a));
    REQUIRE(Contains(a, b) == Without(b, a).empty());
  }
}

}  // namespace spillway
