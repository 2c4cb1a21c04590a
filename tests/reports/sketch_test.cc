// Timelines in characters, drawn by hand: a column is ten nanoseconds.
#include <catch2/catch.hpp>

#include "reports/trace/trace.h"

namespace spillway {
namespace {

struct Drawn {
  Program program;
  Timeline timeline;
  Drawn() {
    program.streams = {{0, StreamKind::kCompute}, {0, StreamKind::kHostToDevice}, {0, StreamKind::kDeviceToHost}};
    program.kernels.resize(2);
    program.kernels[1].recomputation = true;
    program.copies.resize(2);
    program.copies[0].direction = Direction::kDeviceToHost;
    program.copies[1].direction = Direction::kHostToDevice;
    program.code = {{Opcode::kKernel, 0, Cause::kNone, 0, 0},
                    {Opcode::kKernel, 0, Cause::kNone, 0, 1},
                    {Opcode::kCopy, 2, Cause::kNone, 0, 0},
                    {Opcode::kCopy, 1, Cause::kNone, 0, 1}};
    timeline.spans = {{0, 0, 30}, {1, 50, 70}, {2, 20, 50}, {3, 40, 60}};
    timeline.stalls = {{30, 50, Cause::kSwapIn, false, 3}};
    timeline.memory = {{0, 8}, {25, 4}, {55, 0}};
    timeline.makespan = 80;
  }
};

TEST_CASE("what takes most of a column stands for it") {
  const Drawn drawn;
  CHECK(TimelineSketch(drawn.timeline, drawn.program, 8, 8) ==
        "  compute  ###iirr.\n"
        "  copies     >>=<  \n"
        "  memory   ███▄▄▄  \n");
}

TEST_CASE("less than half a column is idle, and a sketch may be of one column") {
  Drawn drawn;
  drawn.timeline.spans = {{0, 0, 14}, {1, 56, 70}};
  drawn.timeline.stalls.clear();
  CHECK(TimelineSketch(drawn.timeline, drawn.program, 8, 8).starts_with("  compute  #.....r.\n"));
  CHECK(TimelineSketch(drawn.timeline, drawn.program, 8, 1).starts_with("  compute  .\n"));
  CHECK(TimelineSketch(Timeline{}, drawn.program, 8, 8).empty());
}

}  // namespace
}  // namespace spillway
