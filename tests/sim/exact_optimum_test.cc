// `best` against the exact optimum of small recorded steps: with recomputation alone, by live bytes and with addresses, and
// with copies, by live bytes.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/evaluate/oracle.h"
#include "tests/deep.h"
#include "tests/sim/drawn_recording.h"
#include "tests/sim/exact_copies.h"
#include "tests/sim/exact_recompute.h"

namespace spillway {
namespace {

struct Counted {
  int cases = 0, optimal = 0, missed = 0;
  int open = 0;      // plans with an open gap
  double apart = 0;  // sum of relative distances
};

void CompareIn(DrawnRecording& r, Bytes capacity, bool swap, Nanos optimum, Counted& counted) {
  const Planned planned = r.Best(capacity, swap);
  INFO("in " << capacity << " bytes, the optimum takes " << optimum << " ns");
  if (optimum == 0) {
    CHECK_FALSE(planned.feasible);
    return;
  }
  ++counted.cases;
  if (!planned.feasible) {
    ++counted.missed;
    return;
  }
  const Evaluation e = Evaluate(planned.plan, r.problem);
  REQUIRE(e.feasible);
  CHECK(e.step_time >= optimum);
  CHECK(e.bounds.Best() <= optimum);
  if (planned.bound) CHECK(planned.bound->time <= optimum);
  counted.optimal += e.step_time == optimum ? 1 : 0;
  counted.apart += static_cast<double>(e.step_time) / static_cast<double>(optimum) - 1;
  counted.open += std::any_of(planned.plan.gaps.begin(), planned.plan.gaps.end(),
                              [](const GapDecision& gap) { return gap.IsOpen(); })
                      ? 1
                      : 0;
}

// In each memory from that of the largest op to that of all values.
template <typename Optimum>
void Compare(DrawnRecording& r, bool swap, Optimum optimum_in, Counted& counted) {
  for (Bytes units = 4; units <= 12; ++units) {
    const Nanos optimum = optimum_in(units * kAllocationUnit);
    if (optimum == r.Kernels()) return;  // nothing need move
    CompareIn(r, units * kAllocationUnit, swap, optimum, counted);
  }
}

Counted CompareRecomputation(const Runtime& runtime, std::uint64_t first, std::uint64_t graphs) {
  Counted counted;
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    DrawnRecording r(DrawnText(seed), runtime);
    const bool addresses = runtime.memory == MemoryModel::kArena;
    INFO("seed " << seed);
    const auto optimum = [&](Bytes capacity) { return ExactRecompute(*r.recorded, capacity, addresses).Optimum(); };
    Compare(r, false, optimum, counted);
  }
  return counted;
}

Counted CompareCopies(const Runtime& runtime, std::int32_t ops, std::uint64_t first, std::uint64_t graphs) {
  Counted counted;
  for (std::uint64_t seed = first; seed < first + graphs; ++seed) {
    DrawnRecording r(DrawnText(seed, ops), runtime);
    INFO("seed " << seed);
    Compare(
        r, true, [&](Bytes capacity) { return ExactCopies(r.step(), r.times, capacity).Optimum(); }, counted);
  }
  return counted;
}

std::string Text(const char* what, const Counted& c) {
  return fmt::format("{}: {} of {} optimal, {} without a plan, {:.2f} % apart on average; {} with open gaps\n", what,
                     c.optimal, c.cases, c.missed, c.cases > 0 ? 100 * c.apart / c.cases : 0, c.open);
}

TEST_CASE("best against the exact optimum of small recorded steps, by live bytes") {
  const Counted counted = CompareRecomputation(Live(), 1, Cases<std::uint64_t>(40, 300));
  INFO(Text("live bytes", counted));
  CHECK(counted.cases > Cases(15, 100));
  CHECK(counted.optimal * 100 >= counted.cases * 97);
  CHECK(counted.open > Cases(5, 30));
}

TEST_CASE("best against the exact optimum of small recorded steps, with addresses") {
  const Counted counted = CompareRecomputation(RuntimeByName("arena"), 1, Cases<std::uint64_t>(20, 300));
  INFO(Text("addresses", counted));
  CHECK(counted.cases > Cases(8, 100));
  CHECK(counted.optimal * 100 >= counted.cases * 97);
}

TEST_CASE("best against the exact optimum of small recorded steps, with copies") {
  const Counted counted = CompareCopies(Live(), 6, 1, Cases<std::uint64_t>(8, 300));
  INFO(Text("copies", counted));
  CHECK(counted.cases > Cases(4, 100));
  CHECK(counted.optimal * 100 >= counted.cases * Cases(75, 90));
}

TEST_CASE("best against the exact optimum of further recorded steps, for the table of its page", "[.][figures]") {
  WARN(Text("live bytes, 6 ops", CompareRecomputation(Live(), 1001, 1200)));
  WARN(Text("addresses, 6 ops", CompareRecomputation(RuntimeByName("arena"), 1001, 300)));
  WARN(Text("copies, 6 ops", CompareCopies(Live(), 6, 1, 300)));
  WARN(Text("copies, 6 ops, arena", CompareCopies(RuntimeByName("arena"), 6, 1, 100)));
}

}  // namespace
}  // namespace spillway
