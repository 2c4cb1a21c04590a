// The engines on Programs of more streams than one device's copies need, up to as many as a Program may have: against each
// other and against the slow and obvious engine.
#include <catch2/catch.hpp>

#include "sim/engine/engine_internal.h"
#include "tests/sim/random_sketch.h"
#include "tests/sim/tick_engine.h"

namespace spillway {
namespace {

// Work in front of each free whose stream has allocated since it last did some: TickEngine asks for that.
TimedSketch Spaced(const TimedSketch& drawn) {
  TimedSketch sketch = drawn;
  sketch.program.code.clear();
  sketch.durations.clear();
  std::vector<bool> allocated(drawn.program.streams.size(), false);
  for (std::size_t i = 0; i < drawn.durations.size(); ++i) {
    const Instruction in = drawn.program.code[i];
    const bool compute = drawn.program.streams[in.stream].kind == StreamKind::kCompute;
    if (in.opcode == Opcode::kFree && allocated[in.stream]) {
      if (compute) sketch.Kernel(1, 0, in.stream);
      if (!compute) sketch.Copy(in.stream, 1);
      allocated[in.stream] = false;
    }
    sketch.Emit(in.opcode, in.stream, in.arg, drawn.durations[i], in.cause);
    if (in.opcode == Opcode::kAlloc) allocated[in.stream] = true;
    if (in.opcode <= Opcode::kCopy && drawn.durations[i] > 0) allocated[in.stream] = false;
  }
  return sketch;
}

Conditions WithoutContention(Conditions conditions) {
  conditions.copy_slowdown.clear();
  conditions.duplex_factor.clear();
  return conditions;
}

bool SameSpans(const Timeline& timeline, const std::map<std::uint32_t, Span>& spans) {
  return timeline.spans.size() == spans.size() &&
         std::all_of(timeline.spans.begin(), timeline.spans.end(), [&](const Span& span) {
           const auto found = spans.find(span.instruction);
           return found != spans.end() && found->second.start == span.start && found->second.end == span.end;
         });
}

// Calls check(sketch, conditions) with `rounds` random Programs for each number of streams, every third of a pool.
template <typename Check>
void ForEachNumberOfStreams(int rounds, Check check) {
  std::mt19937 random(20261126);
  for (int streams = 4; streams <= static_cast<int>(kMaxStreams); ++streams) {
    for (int round = 0; round < rounds; ++round) {
      const bool pool = round % 3 == 0;
      const TimedSketch sketch = Spaced(RandomSketch(random, pool, streams));
      Conditions conditions = RandomConditions(random, pool);
      if (pool) conditions.pool_capacity *= streams / 3;
      INFO(streams << " streams, round " << round);
      check(sketch, conditions);
    }
  }
}

}  // namespace

TEST_CASE("on up to as many streams as there may be the engines agree with one that ticks") {
  int completed = 0, failed = 0;
  ForEachNumberOfStreams(150, [&](const TimedSketch& sketch, const Conditions& drawn) {
    const Conditions conditions = WithoutContention(drawn);
    TickEngine ticks(sketch, conditions);
    const Simulated expected = ticks.Run();
    (expected.completed ? completed : failed) += 1;
    Timeline relaxed, evented;
    REQUIRE(Same(RunSketch(SimulateRelax, sketch, conditions, &relaxed), expected));
    REQUIRE(Same(RunSketch(SimulateEvents, sketch, conditions, &evented), expected));
    REQUIRE(Same(RunSketch(SimulateRelax, sketch, conditions), expected));  // of an arena mostly RelaxArena
    REQUIRE(Same(RunSketch(SimulateEvents, sketch, conditions), expected));
    if (!expected.completed) return;
    REQUIRE(SameSpans(relaxed, ticks.spans()));
    REQUIRE(SameTimelines(relaxed, evented));
  });
  CHECK(completed > 1000);
  CHECK(failed > 100);  // both outcomes were seen
}

TEST_CASE("on as many streams a simulation tells the same whether or not a timeline and a peak are asked for") {
  ForEachNumberOfStreams(150, [&](const TimedSketch& sketch, const Conditions& conditions) {
    REQUIRE(TellsTheSameHoweverAsked(sketch, conditions));
  });
}

}  // namespace spillway
