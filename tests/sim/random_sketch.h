// Random Programs and Conditions for the engines, and whether two of them said the same.
#ifndef SPILLWAY_TESTS_SIM_RANDOM_SKETCH_H_
#define SPILLWAY_TESTS_SIM_RANDOM_SKETCH_H_

#include <algorithm>
#include <random>
#include <vector>

#include "tests/sim/sketch.h"

namespace spillway {

// A random Program that obeys sim/program/program.h: events recorded before they are waited for, buffers freed once. Behind
// the three streams of a sketch come more compute and copy streams.
inline TimedSketch RandomSketch(std::mt19937& random, bool pool, int streams = 3) {
  TimedSketch sketch;
  for (int s = 3; s < streams; ++s) sketch.program.streams.push_back({0, static_cast<StreamKind>(s % 4)});
  sketch.program.memory = pool ? ProgramMemory::kPool : ProgramMemory::kArena;
  std::vector<std::uint32_t> live;
  const auto draw = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < 20 * streams; ++i) {
    const auto stream = static_cast<StreamId>(draw(streams));
    const bool compute = sketch.program.streams[stream].kind == StreamKind::kCompute;
    switch (draw(7)) {
      case 0:
      case 1:
        if (compute) sketch.Kernel(draw(20), static_cast<std::uint32_t>(sketch.program.kernels.size() % 2), stream);
        if (compute) sketch.program.kernels.back().recomputation = draw(3) == 0;
        if (!compute) sketch.Copy(stream, draw(20));
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

inline bool SameTimelines(const Timeline& a, const Timeline& b) {
  const auto same_span = [](const Span& x, const Span& y) {
    return x.instruction == y.instruction && x.start == y.start && x.end == y.end;
  };
  return std::equal(a.spans.begin(), a.spans.end(), b.spans.begin(), b.spans.end(), same_span) && a.stall == b.stall &&
         a.host_stall == b.host_stall && a.makespan == b.makespan;
}

inline bool Same(const Simulated& a, const Simulated& b) {
  return a.completed == b.completed && a.failed_at == b.failed_at && a.failed_live == b.failed_live &&
         a.makespan == b.makespan && a.live_peak == b.live_peak && a.pool_peak == b.pool_peak;
}

// Whether a simulation tells the same with and without a timeline, and but for the peak where it is asked for times alone.
inline bool TellsTheSameHoweverAsked(const TimedSketch& sketch, const Conditions& conditions) {
  Scratch scratch;
  Timeline timeline;
  Simulated with = Simulate(sketch.program, sketch.durations, conditions, scratch, &timeline);
  if (!Same(with, Simulate(sketch.program, sketch.durations, conditions, scratch))) return false;
  with.live_peak = 0;
  return Same(with, SimulateTimes(sketch.program, sketch.durations, conditions, scratch));
}

// Half of them with contention.
inline Conditions RandomConditions(std::mt19937& random, bool pool) {
  Conditions conditions;
  if (random() % 4 != 0) conditions.host_cost = {3, 2, 1, 0, 1, 1, 2};
  if (random() % 4 == 0) conditions.launch_cost = {1, 9};
  if (random() % 4 == 0) conditions.collection_time = 5;
  if (random() % 4 == 0) conditions.framework_time = 1;
  if (random() % 4 == 0) conditions.blocking_copies = BlockingCopies::kSwapOuts;
  if (random() % 2 == 0) conditions.copy_slowdown = {1.03, 1.4};
  if (random() % 2 == 0) conditions.duplex_factor = {{0.85, random() % 2 == 0 ? 0.85 : 0.4}};
  if (pool) conditions.pool_capacity = 12 + static_cast<Bytes>(random() % 20);
  return conditions;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_RANDOM_SKETCH_H_
