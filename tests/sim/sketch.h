// Programs written down instruction by instruction, each with its duration, for the engines.
#ifndef SPILLWAY_TESTS_SIM_SKETCH_H_
#define SPILLWAY_TESTS_SIM_SKETCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/simulate.h"

namespace spillway {

// Streams: 0 compute, 1 device to host, 2 host to device; tests may add some. Durations beside the code.
struct TimedSketch {
  Program program;
  std::vector<Nanos> durations;

  TimedSketch() {
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
    program.launches.resize(2);
  }
  void Emit(Opcode opcode, StreamId stream, std::uint32_t arg, Nanos duration = 0, Cause cause = Cause::kNone) {
    program.code.push_back({opcode, stream, cause, 0, arg});
    durations.push_back(duration);
  }
  void Kernel(Nanos duration, std::uint32_t launch = 0, StreamId stream = 0) {
    program.kernels.push_back({.launch = launch});
    Emit(Opcode::kKernel, stream, static_cast<std::uint32_t>(program.kernels.size() - 1), duration);
  }
  void Copy(StreamId stream, Nanos duration) {
    const bool out = program.streams[stream].kind == StreamKind::kDeviceToHost;
    program.copies.push_back({.direction = out ? Direction::kDeviceToHost : Direction::kHostToDevice});
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
inline const Engine kEngines[] = {SimulateRelax, SimulateEvents};

inline Simulated RunSketch(Engine engine, const TimedSketch& sketch, const Conditions& conditions,
                           Timeline* timeline = nullptr) {
  Scratch scratch;
  return engine(sketch.program, sketch.durations, conditions, scratch, timeline);
}

inline Nanos StallOf(const Timeline& timeline, Cause cause) { return timeline.stall[static_cast<std::size_t>(cause)]; }

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_SKETCH_H_
