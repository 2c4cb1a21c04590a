// The engines against timelines drawn by hand, against each other, and against the known answers of train_chain.
#include "sim/engine/simulate.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/sim/reference_engine.h"
#include "tests/sim/train_chain.h"

namespace spillway {
namespace {

// Streams: 0 compute, 1 device to host, 2 host to device. Durations beside the code.
struct Sketch {
  Program program;
  std::vector<Nanos> durations;

  Sketch() {
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
    program.launches.resize(2);
  }
  void Emit(Opcode opcode, StreamId stream, std::uint32_t arg, Nanos duration = 0, Cause cause = Cause::kNone) {
    program.code.push_back({opcode, stream, cause, 0, arg});
    durations.push_back(duration);
  }
  void Kernel(Nanos duration, std::uint32_t launch = 0) {
    program.kernels.push_back({.launch = launch});
    Emit(Opcode::kKernel, 0, static_cast<std::uint32_t>(program.kernels.size() - 1), duration);
  }
  void Copy(StreamId stream, Nanos duration) {
    program.copies.push_back({.direction = stream == 1 ? Direction::kDeviceToHost : Direction::kHostToDevice});
    Emit(Opcode::kCopy, stream, static_cast<std::uint32_t>(program.copies.size() - 1), duration);
  }
  std::uint32_t Record(StreamId stream) {
    Emit(Opcode::kRecord, stream, program.events);
    return program.events++;
  }
  void Wait(StreamId stream, std::uint32_t event, Cause cause) { Emit(Opcode::kWait, stream, event, 0, cause); }
  std::uint32_t Alloc(StreamId stream, Bytes bytes) {
    program.buffers.push_back({.bytes = bytes});
    Emit(Opcode::kAlloc, stream, static_cast<std::uint32_t>(program.buffers.size() - 1));
    return static_cast<std::uint32_t>(program.buffers.size() - 1);
  }
  void Free(StreamId stream, std::uint32_t buffer) { Emit(Opcode::kFree, stream, buffer); }
};

using Engine = Simulated (*)(const Program&, std::span<const Nanos>, const Conditions&, Scratch&, Timeline*);
const Engine kEngines[] = {SimulateRelax, SimulateEvents};

Simulated RunSketch(Engine engine, const Sketch& sketch, const Conditions& conditions, Timeline* timeline = nullptr) {
  Scratch scratch;
  return engine(sketch.program, sketch.durations, conditions, scratch, timeline);
}

Nanos StallOf(const Timeline& timeline, Cause cause) { return timeline.stall[static_cast<std::size_t>(cause)]; }

TEST_CASE("train chain gives the known makespan and peak in both engines") {
  for (const Engine engine : kEngines) {
    for (const TrainChainCheck& check : kTrainChainChecks) {
      const TrainChain chain = MakeTrainChain(check.layers);
      Scratch scratch;
      const Simulated result = engine(chain.program, chain.durations, {}, scratch, nullptr);
      CHECK(result.makespan == check.makespan);
      CHECK(result.live_peak == check.peak);
    }
  }
}

TEST_CASE("the reference engine gives them too") {
  for (const TrainChainCheck& check : kTrainChainChecks) {
    const ReferenceEngine::Result result = ReferenceEngine(check.layers).Run();
    CHECK(result.makespan == check.makespan);
    CHECK(result.peak == check.peak);
  }
}

TEST_CASE("a kernel waits for a copy, and the stall is charged to it") {
  // compute  |K 10|------stall 15------|K 5|
  // h2d      |Copy 25..................|
  Sketch sketch;
  sketch.Copy(2, 25);
  const std::uint32_t arrived = sketch.Record(2);
  sketch.Kernel(10);
  sketch.Wait(0, arrived, Cause::kSwapIn);
  sketch.Kernel(5);
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, {}, &timeline).makespan == 30);
    CHECK(StallOf(timeline, Cause::kSwapIn) == 15);
    CHECK(timeline.host_stall == 0);
    REQUIRE(timeline.spans.size() == 3);
    CHECK(timeline.spans[2].start == 25);
    CHECK(timeline.spans[2].end == 30);
  }
}

TEST_CASE("the host can be the bottleneck") {
  // Issue takes 7 each: kernels of 3 start at 7, 14, 21 and the last ends at 24; compute idles 7 + 4 + 4.
  Sketch sketch;
  for (int i = 0; i < 3; ++i) sketch.Kernel(3);
  Conditions conditions;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kKernel)] = 7;
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 24);
    CHECK(timeline.host_stall == 15);
  }
}

TEST_CASE("the host takes longer over some launches than over others") {
  // Issue takes 7 for the first launch and 20 for the second: kernels of 3 start at 7, 27, 34, the last one ends at 37;
  // compute idles 7 + 17 + 4. What all kernels would cost does not matter then, what a copy costs does.
  //   host     |K0 7|K1 20.............|K0 7 |C 2|
  //   compute       |3|                |3|   |3|
  //   d2h                                        |1|
  Sketch sketch;
  sketch.Kernel(3, 0);
  sketch.Kernel(3, 1);
  sketch.Kernel(3, 0);
  Conditions conditions;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kKernel)] = 1000;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kCopy)] = 2;
  conditions.launch_cost = {7, 20};
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 37);
    CHECK(timeline.host_stall == 28);
  }
  sketch.Copy(1, 10);  // issued at 36
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 46);
  conditions.DropHostCosts();
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 10);
}

TEST_CASE("a host sync delays what is issued after it") {
  // Kernel 10, host waits for it, then a copy that could have started at 0 starts at 10.
  Sketch sketch;
  sketch.Kernel(10);
  const std::uint32_t done = sketch.Record(0);
  sketch.Emit(Opcode::kHostSync, 0, done, 0, Cause::kBarrier);
  sketch.Copy(2, 4);
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, {}).makespan == 14);
}

TEST_CASE("a late issue is charged to each block of the host, and waking up to the host") {
  // Two copies of 10 and 20 in a row; the host waits for the first (swap-in), wakes up in 3, then for the second
  // (barrier), wakes up in 3: blocked 0 to 10 and 13 to 30, the kernel is issued at 33.
  Sketch sketch;
  sketch.Copy(2, 10);
  const std::uint32_t first = sketch.Record(2);
  sketch.Copy(2, 20);
  const std::uint32_t second = sketch.Record(2);
  sketch.Emit(Opcode::kHostSync, 0, first, 0, Cause::kSwapIn);
  sketch.Emit(Opcode::kHostSync, 0, second, 0, Cause::kBarrier);
  sketch.Kernel(7);
  Conditions conditions;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kHostSync)] = 3;
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 40);
    CHECK(StallOf(timeline, Cause::kSwapIn) == 10);
    CHECK(StallOf(timeline, Cause::kBarrier) == 17);
    CHECK(timeline.host_stall == 6);
  }
}

// Two buffers of 6 where 10 bytes exist: the second waits for the first to be copied out.
//   compute  |alloc A, K 10|        ...        |alloc B, K 5|
//   d2h                    |Copy A 20, free A  |
Sketch TwoBuffers() {
  Sketch sketch;
  const std::uint32_t a = sketch.Alloc(0, 6);
  sketch.Kernel(10);
  const std::uint32_t made = sketch.Record(0);
  sketch.Wait(1, made, Cause::kProduced);
  sketch.Copy(1, 20);
  sketch.Free(1, a);
  const std::uint32_t b = sketch.Alloc(0, 6);
  sketch.Kernel(5);
  sketch.Free(0, b);
  return sketch;
}

TEST_CASE("a pool without room blocks the host on the oldest pending free") {
  Sketch sketch = TwoBuffers();
  sketch.program.arena = false;
  Conditions conditions;
  conditions.pool_capacity = 10;
  for (const Engine engine : kEngines) {
    Timeline timeline;
    const Simulated result = RunSketch(engine, sketch, conditions, &timeline);
    CHECK(result.completed);
    CHECK(result.makespan == 35);  // 10 + 20 + 5
    CHECK(result.live_peak == 6);  // B comes when A has gone: frees come first
    CHECK(result.pool_peak == 6);
    CHECK(StallOf(timeline, Cause::kSwapOut) == 20);
  }
}

TEST_CASE("a pool with room does not block, and one without any pending free fails") {
  Sketch sketch = TwoBuffers();
  sketch.program.arena = false;
  Conditions conditions;
  conditions.pool_capacity = 12;
  for (const Engine engine : kEngines) {
    const Simulated result = RunSketch(engine, sketch, conditions);
    CHECK(result.makespan == 30);  // copy ends at 30, second kernel already at 15
    CHECK(result.pool_peak == 12);
    CHECK(result.live_peak == 12);
  }
  Sketch full;
  full.program.arena = false;
  full.Alloc(0, 6);
  full.Kernel(1);
  full.Alloc(0, 6);
  conditions.pool_capacity = 10;
  for (const Engine engine : kEngines) {
    const Simulated result = RunSketch(engine, full, conditions);
    CHECK_FALSE(result.completed);
    CHECK(result.failed_at == 2);
    CHECK(result.failed_live == 6);
  }
}

TEST_CASE("a blocking copy holds the host until it is done") {
  // host     |---Copy 20---|K 5|
  Sketch sketch;
  sketch.Copy(1, 20);
  sketch.Kernel(5);
  for (const Engine engine : kEngines) {
    CHECK(RunSketch(engine, sketch, {}).makespan == 20);
    Conditions conditions;
    conditions.blocking_copies = BlockingCopies::kAll;
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 25);
    CHECK(StallOf(timeline, Cause::kBarrier) == 20);
  }
}

TEST_CASE("only swap-outs may block") {
  Conditions conditions;
  conditions.blocking_copies = BlockingCopies::kSwapOuts;
  for (const Engine engine : kEngines) {
    Sketch sketch;
    sketch.Copy(1, 20);
    sketch.Kernel(5);
    sketch.program.copies[0].direction = Direction::kHostToDevice;
    CHECK(RunSketch(engine, sketch, conditions).makespan == 20);
    sketch.program.copies[0].direction = Direction::kDeviceToHost;
    CHECK(RunSketch(engine, sketch, conditions).makespan == 25);
  }
}

TEST_CASE("a collection after a recomputation holds the host, while the device goes on") {
  // host     |collection 30|collection 30|
  // compute  |K 10|        |-- K 50 --|  |K 5|        the third kernel waits for the second one: 30 + 50
  Sketch sketch;
  for (const Nanos time : {10, 50, 5}) sketch.Kernel(time);
  sketch.program.kernels[0].recomputation = sketch.program.kernels[1].recomputation = true;
  for (const Engine engine : kEngines) {
    CHECK(RunSketch(engine, sketch, {}).makespan == 65);
    Conditions conditions;
    conditions.collection_time = 30;
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 85);
    CHECK(timeline.host_stall == 20);  // before the second kernel
    sketch.program.kernels[1].recomputation = false;
    CHECK(RunSketch(engine, sketch, conditions).makespan == 85);  // nobody waited for the second collection
    sketch.program.kernels[1].recomputation = true;
    conditions.DropHostCosts();
    CHECK(RunSketch(engine, sketch, conditions).makespan == 65);
  }
}

TEST_CASE("a pool collects after each free that it waits for, those long done included") {
  // A's copy out ends at 30 and B's allocation waits for it: 10 + 20, then 7, then the kernel's 5.
  Sketch sketch = TwoBuffers();
  sketch.program.arena = false;
  Conditions conditions;
  conditions.pool_capacity = 10;
  conditions.collection_time = 7;
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 42);
  conditions.pool_capacity = 12;  // nobody waits
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 30);
}

TEST_CASE("copies in both directions share the link") {
  // Alone 100 and 40. Together at half rate: the short one ends at 80, then the long one has 60 left: ends at 140.
  Sketch sketch;
  sketch.Copy(1, 100);
  sketch.Copy(2, 40);
  Conditions conditions;
  conditions.duplex_factor = {0.5};
  Timeline timeline;
  CHECK(RunSketch(SimulateEvents, sketch, conditions, &timeline).makespan == 140);
  CHECK(timeline.spans[1].end == 80);
}

TEST_CASE("copies in one direction on two links do not share") {
  Sketch sketch;
  sketch.Copy(1, 100);
  sketch.Copy(2, 40);
  sketch.program.copies[1].link = 1;
  Conditions conditions;
  conditions.duplex_factor = {0.5, 0.5};
  CHECK(RunSketch(SimulateEvents, sketch, conditions).makespan == 100);
}

TEST_CASE("a kernel slows down while a copy runs") {
  // Factor 2: during the copy's 50 the kernel does 25 of its 100, then 75 at full rate: ends at 125.
  Sketch sketch;
  sketch.Kernel(100);
  sketch.Copy(1, 50);
  Conditions conditions;
  conditions.copy_slowdown = {2.0};
  CHECK(conditions.Contention());
  CHECK(RunSketch(SimulateEvents, sketch, conditions).makespan == 125);
  Scratch scratch;
  CHECK(Simulate(sketch.program, sketch.durations, conditions, scratch).makespan == 125);
}

TEST_CASE("replay takes durations from a timeline") {
  Sketch sketch;
  sketch.Kernel(100);
  sketch.Copy(1, 50);
  Conditions conditions;
  conditions.copy_slowdown = {2.0};
  Timeline timeline;
  RunSketch(SimulateEvents, sketch, conditions, &timeline);
  Scratch scratch;
  const std::vector<Nanos> replayed = ReplayDurations(sketch.program, timeline);
  CHECK(Simulate(sketch.program, replayed, {}, scratch).makespan == 125);
}

// A random Program that obeys sim/program/program.h: three streams, events recorded before they are waited for, buffers freed
// once; `pool` puts some frees on the copy streams.
Sketch RandomSketch(std::mt19937& random, bool pool) {
  Sketch sketch;
  sketch.program.arena = !pool;
  std::vector<std::uint32_t> live;
  const auto draw = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < 60; ++i) {
    const auto stream = static_cast<StreamId>(draw(3));
    switch (draw(7)) {
      case 0:
      case 1:
        if (stream == 0) sketch.Kernel(draw(20), static_cast<std::uint32_t>(sketch.program.kernels.size() % 2));
        if (stream == 0) sketch.program.kernels.back().recomputation = draw(3) == 0;
        if (stream != 0) sketch.Copy(stream, draw(20));
        break;
      case 2:
        sketch.Record(stream);
        break;
      case 3:
        if (sketch.program.events > 0) {
          const auto event = static_cast<std::uint32_t>(draw(static_cast<int>(sketch.program.events)));
          sketch.Wait(stream, event, static_cast<Cause>(1 + draw(5)));
        }
        break;
      case 4:
        live.push_back(sketch.Alloc(stream, 1 + draw(9)));
        break;
      case 5:
        if (!live.empty()) {
          sketch.Free(stream, live.back());
          live.pop_back();
        }
        break;
      default:
        if (sketch.program.events > 0 && draw(4) == 0) {
          const auto event = static_cast<std::uint32_t>(draw(static_cast<int>(sketch.program.events)));
          sketch.Emit(Opcode::kHostSync, 0, event, 0, Cause::kBarrier);
        }
    }
  }
  return sketch;
}

bool SameTimelines(const Timeline& a, const Timeline& b) {
  const auto same_span = [](const Span& x, const Span& y) {
    return x.instruction == y.instruction && x.start == y.start && x.end == y.end;
  };
  return std::equal(a.spans.begin(), a.spans.end(), b.spans.begin(), b.spans.end(), same_span) && a.stall == b.stall &&
         a.host_stall == b.host_stall && a.makespan == b.makespan;
}

TEST_CASE("both engines agree on random programs without contention") {
  std::mt19937 random(20260101);
  int failed = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool pool = round % 2 == 1;
    const Sketch sketch = RandomSketch(random, pool);
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
  }
  CHECK(failed > 100);  // both outcomes were seen
  CHECK(failed < 3900);
}

TEST_CASE("addresses never make a pool faster, nor a step fail that runs without them") {
  std::mt19937 random(3);
  int compacted = 0;
  for (int round = 0; round < 2000; ++round) {
    const Sketch sketch = RandomSketch(random, true);
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

TEST_CASE("scaling every time by k scales the makespan by k") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Sketch sketch = RandomSketch(random, false);
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
