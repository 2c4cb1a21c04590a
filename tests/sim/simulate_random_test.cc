// The engines against each other, and laws of theirs, on random Programs.
#include <catch2/catch.hpp>
#include <random>

#include "tests/sim/flat_lines.h"
#include "tests/sim/random_sketch.h"

namespace spillway {
namespace {

TEST_CASE("a simulation tells the same whether or not a timeline and a peak are asked for") {
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    const bool pool = round % 4 == 0;
    const TimedSketch sketch = RandomSketch(random, pool);
    const Conditions conditions = RandomConditions(random, pool);
    REQUIRE(TellsTheSameHoweverAsked(sketch, conditions));
  }
}

// An op for each instruction, of no time but for kernels and copies; of events the lines know the ops that record them.
FlatLines<3> FlatLinesOf(const TimedSketch& sketch) {
  FlatLines<3> lines;
  std::vector<std::uint32_t> recorded(sketch.program.events);
  for (std::size_t i = 0; i < sketch.program.code.size(); ++i) {
    const Instruction in = sketch.program.code[i];
    FlatLines<3>::Op op{.duration = sketch.durations[i], .stream = in.stream};
    if (in.opcode == Opcode::kWait) op.after = {recorded[in.arg]};
    if (in.opcode == Opcode::kAlloc) op.allocated = sketch.program.buffers[in.arg].bytes;
    if (in.opcode == Opcode::kFree) op.freed = sketch.program.buffers[in.arg].bytes;
    const std::uint32_t end = lines.Add(op);
    if (in.opcode == Opcode::kRecord) recorded[in.arg] = end;
  }
  return lines;
}

TEST_CASE("the least lines that relax any list of ops agree on random programs") {
  std::mt19937 random(13);
  for (int round = 0; round < 1000; ++round) {
    TimedSketch sketch = RandomSketch(random, false);
    std::erase_if(sketch.program.code, [](Instruction in) { return in.opcode == Opcode::kHostSync; });
    sketch.durations.clear();
    for (const Instruction in : sketch.program.code) {
      sketch.durations.push_back(in.opcode <= Opcode::kCopy ? static_cast<Nanos>(random() % 20) : 0);
    }
    FlatLines<3> lines = FlatLinesOf(sketch);
    const Simulated simulated = RunSketch(SimulateRelax, sketch, {});
    REQUIRE(lines.Run<true>() == simulated.makespan);
    REQUIRE(lines.Peak() == simulated.live_peak);
    REQUIRE(lines.Run<false>() == simulated.makespan);
  }
}

TEST_CASE("both engines agree on random programs without contention") {
  std::mt19937 random(20260101);
  int failed = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool pool = round % 2 == 1;
    const TimedSketch sketch = RandomSketch(random, pool);
    Conditions conditions;
    if (round % 4 >= 2) conditions.host_cost = {3, 2, 1, 0, 1, 1, 2};
    if (round % 8 >= 4) conditions.launch_cost = {1, 9};
    if (pool) conditions.pool_capacity = 12 + round % 20;
    conditions.blocking_copies = static_cast<BlockingCopies>(round / 4 % 3);
    if (round % 3 == 0) conditions.collection_time = 5;
    Timeline relaxed, evented;
    const Simulated a = RunSketch(SimulateRelax, sketch, conditions, &relaxed);
    const Simulated b = RunSketch(SimulateEvents, sketch, conditions, &evented);
    failed += a.completed ? 0 : 1;
    REQUIRE(a.completed == b.completed);
    REQUIRE(a.failed_at == b.failed_at);
    REQUIRE(a.makespan == b.makespan);
    REQUIRE(a.live_peak == b.live_peak);
    REQUIRE(a.pool_peak == b.pool_peak);
    if (a.completed) REQUIRE(SameTimelines(relaxed, evented));
    REQUIRE(Same(RunSketch(SimulateRelax, sketch, conditions), a));
    REQUIRE(Same(RunSketch(SimulateEvents, sketch, conditions), a));
  }
  CHECK(failed > 100);  // both outcomes were seen
  CHECK(failed < 3900);
}

TEST_CASE("addresses never make a pool faster, nor a step fail that runs without them") {
  std::mt19937 random(3);
  int compacted = 0;
  for (int round = 0; round < 2000; ++round) {
    const TimedSketch sketch = RandomSketch(random, true);
    Conditions conditions;
    conditions.host_cost = {3, 2, 1, 0, 1, 1, 2};
    conditions.pool_capacity = 12 + round % 20;
    conditions.compaction = {.rate = 0.5, .per_copy = 7};
    const Simulated bytes = RunSketch(SimulateEvents, sketch, conditions);
    conditions.pool = PoolKind::kAddresses;
    Timeline timeline;
    const Simulated addresses = RunSketch(SimulateEvents, sketch, conditions, &timeline);
    REQUIRE(bytes.completed == addresses.completed);
    REQUIRE(bytes.failed_at == addresses.failed_at);
    if (!bytes.completed) continue;
    REQUIRE(addresses.makespan >= bytes.makespan);
    REQUIRE((addresses.compactions > 0) == (addresses.compacted_bytes > 0));
    REQUIRE(RunSketch(SimulateEvents, sketch, conditions).makespan == addresses.makespan);
    compacted += addresses.compactions;
  }
  CHECK(compacted > 20);
}

// What DrawStep (sim/uncertainty/uncertainty.h) relies on: a step that runs does so under every draw of its durations.
TEST_CASE("whether a pool runs out of memory depends on the order of the list, not on times") {
  std::mt19937 random(5);
  int failed = 0;
  for (int round = 0; round < 400; ++round) {
    TimedSketch sketch = RandomSketch(random, true);
    Conditions conditions;
    conditions.host_cost = {3, 2, 1, 0, 1, 1, 2};
    conditions.pool_capacity = 12 + round % 20;
    conditions.pool = round % 2 == 0 ? PoolKind::kBytes : PoolKind::kAddresses;
    const Simulated first = RunSketch(SimulateEvents, sketch, conditions);
    failed += first.completed ? 0 : 1;
    for (int draw = 0; draw < 8; ++draw) {
      for (Nanos& duration : sketch.durations) duration = duration * static_cast<Nanos>(random() % 300) / 100;
      const Simulated drawn = RunSketch(SimulateEvents, sketch, conditions);
      REQUIRE(drawn.completed == first.completed);
      REQUIRE(drawn.failed_at == first.failed_at);
    }
  }
  CHECK(failed > 10);  // both outcomes were seen
  CHECK(failed < 390);
}

TEST_CASE("scaling every time by k scales the makespan by k") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    TimedSketch sketch = RandomSketch(random, false);
    Conditions conditions;
    conditions.host_cost = {3, 2, 1, 0, 1, 1, 2};
    const Nanos once = RunSketch(SimulateRelax, sketch, conditions).makespan;
    for (Nanos& duration : sketch.durations) duration *= 5;
    for (Nanos& cost : conditions.host_cost) cost *= 5;
    CHECK(RunSketch(SimulateRelax, sketch, conditions).makespan == 5 * once);
  }
}

}  // namespace
}  // namespace spillway
