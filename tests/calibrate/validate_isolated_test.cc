// Launches by themselves.
#include <catch2/catch.hpp>

#include "calibrate/validate/split.h"
#include "sim/verify/verify.h"
#include "tests/scripted_device.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// SmallStep's recomputing Program; each of its ops has a launch of its own, conv and bfilter the same one.
Program WithLaunches() {
  Program program = RecomputeProgram();
  program.launches.clear();
  for (Kernel& kernel : program.kernels) {
    const OpId op = kernel.op == SmallStep::bfilter ? OpId{SmallStep::conv} : kernel.op;
    Launch launch;
    launch.shape.in.c = 1000 + op;
    kernel.launch = static_cast<std::uint32_t>(program.launches.size());
    program.launches.push_back(launch);
  }
  for (Kernel& kernel : program.kernels) {  // one row for equal launches
    for (std::uint32_t row = 0; row < kernel.launch; ++row) {
      if (program.launches[row] == program.launches[kernel.launch]) kernel.launch = row;
    }
  }
  return program;
}

TEST_CASE("each launch in a row, with operands of its own") {
  const Program program = WithLaunches();
  const Program isolated = IsolatedProgram(program, 3);
  CHECK(isolated.kernels.size() == 3 * 7);  // 8 ops, two with one launch; the recomputed one once
  CHECK(isolated.PeakAddress() <= program.PeakAddress());
  Bytes largest = 0;
  for (const Kernel& kernel : program.kernels) {
    if (kernel.op == SmallStep::bfilter) continue;  // conv stands for it
    Bytes sum = 0;
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      sum += program.buffers[program.operands[kernel.operands + k].buffer].bytes;
    }
    largest = std::max(largest, sum);
  }
  CHECK(isolated.PeakAddress() == largest);
  CHECK(Verify(isolated, nullptr).empty() == false);  // reads what nobody wrote: for its times only
}

TEST_CASE("the first run of each launch does not count, the median of the others does") {
  const Program program = WithLaunches();
  const TrainingStep step = SmallStep::Build();
  // Kernel k of a launch takes 100 x launch + {900, 5, 7, 6, 5, 90} ns.
  ScriptedDevice device([&](const Program& isolated) {
    const Nanos extra[] = {900, 5, 7, 6, 5, 90};
    std::vector<Nanos> times(isolated.code.size(), 0);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (isolated.code[i].opcode != Opcode::kKernel) continue;
      const std::uint32_t kernel = isolated.code[i].arg;
      times[i] = 100 * static_cast<Nanos>(isolated.kernels[kernel].launch) + extra[kernel % 6];
    }
    return times;
  });
  const IsolatedTimes times = MeasureIsolated(program, step, device, device, 5);
  REQUIRE_FALSE(times.failure.has_value());
  REQUIRE(times.launches.size() == 7);
  const std::vector<Nanos> by_row = times.For(program);
  REQUIRE(by_row.size() == program.launches.size());
  for (const Kernel& kernel : program.kernels) {
    if (!kernel.recomputation) CHECK(by_row[kernel.launch] == 100 * static_cast<Nanos>(kernel.launch) + 6);
  }
  Program other;
  other.launches.resize(1);
  other.launches[0].shape.in.c = 5;
  CHECK(times.For(other) == std::vector<Nanos>{0});
}

TEST_CASE("a failure is told") {
  const Program program = WithLaunches();
  const TrainingStep step = SmallStep::Build();
  ScriptedDevice device([](const Program& p) { return std::vector<Nanos>(p.code.size(), 1); },
                        {.injections = {{Injection::What::kKernelFails, 3}}});
  const IsolatedTimes times = MeasureIsolated(program, step, device, device);
  CHECK(times.failure.has_value());
  CHECK(times.launches.empty());
}

}  // namespace
}  // namespace spillway
