// What holds the host up beside syncs: a pool without room, copies that block, collections of garbage.
#include <catch2/catch.hpp>

#include "tests/sim/sketch.h"

namespace spillway {
namespace {

// Two buffers of 6 where 10 bytes exist: the second waits for the first to be copied out.
//   compute  |alloc A, K 10|        ...        |alloc B, K 5|
//   d2h                    |Copy A 20, free A  |
TimedSketch TwoBuffers() {
  TimedSketch sketch;
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
  TimedSketch sketch = TwoBuffers();
  sketch.program.memory = ProgramMemory::kPool;
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
  TimedSketch sketch = TwoBuffers();
  sketch.program.memory = ProgramMemory::kPool;
  Conditions conditions;
  conditions.pool_capacity = 12;
  for (const Engine engine : kEngines) {
    const Simulated result = RunSketch(engine, sketch, conditions);
    CHECK(result.makespan == 30);  // copy ends at 30, second kernel already at 15
    CHECK(result.pool_peak == 12);
    CHECK(result.live_peak == 12);
  }
  TimedSketch full;
  full.program.memory = ProgramMemory::kPool;
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
  TimedSketch sketch;
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
    TimedSketch sketch;
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
  TimedSketch sketch;
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
  TimedSketch sketch = TwoBuffers();
  sketch.program.memory = ProgramMemory::kPool;
  Conditions conditions;
  conditions.pool_capacity = 10;
  conditions.collection_time = 7;
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 42);
  conditions.pool_capacity = 12;  // nobody waits
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 30);
}

}  // namespace
}  // namespace spillway
