// A Program of as many instructions as one asks for with its timeline, as simulated ones are: kernels, a swap-out and a
// swap-in by turns, as an out-of-core step of many parts has them.
#ifndef SPILLWAY_TESTS_LONG_TIMELINE_H_
#define SPILLWAY_TESTS_LONG_TIMELINE_H_

#include <cstdint>

#include "reports/trace/trace.h"

namespace spillway {

struct LongTimeline {
  explicit LongTimeline(std::uint32_t instructions) {
    machine.devices.resize(1);
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kDeviceToHost}, {0, StreamKind::kHostToDevice}};
    program.kernels.resize(1);
    program.launches.resize(1);
    const std::uint32_t rounds = instructions / 4;
    program.buffers.resize(rounds);
    for (std::uint32_t i = 0; i < rounds; ++i) AddRound(i);
    timeline.makespan = 1000 * Nanos{rounds};
  }
  TraceSubject Subject() const { return {timeline, program, machine}; }

  Program program;
  Timeline timeline;
  Machine machine;

 private:
  void AddRound(std::uint32_t i) {
    const Nanos at = 1000 * Nanos{i};
    program.copies.push_back({.to = i, .bytes = 4096, .direction = Direction::kDeviceToHost});
    program.copies.push_back({.from = i, .bytes = 4096, .direction = Direction::kHostToDevice});
    program.code.push_back({Opcode::kKernel, 0, Cause::kNone, 0, 0});
    program.code.push_back({Opcode::kCopy, 1, Cause::kNone, 0, 2 * i});
    program.code.push_back({Opcode::kKernel, 0, Cause::kNone, 0, 0});
    program.code.push_back({Opcode::kCopy, 2, Cause::kNone, 0, 2 * i + 1});
    timeline.spans.push_back({4 * i, at, at + 400});
    timeline.spans.push_back({4 * i + 1, at + 10, at + 700});
    timeline.spans.push_back({4 * i + 2, at + 500, at + 900});
    timeline.spans.push_back({4 * i + 3, at + 710, at + 990});
    for (int k = 1; k <= 4; ++k) timeline.issued.push_back(at + k);
    timeline.memory.push_back({at, 512});
    timeline.stalls.push_back({.start = at + 400, .end = at + 500, .instruction = 4 * i + 2});
  }
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_LONG_TIMELINE_H_
