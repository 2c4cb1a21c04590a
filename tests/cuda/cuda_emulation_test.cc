// Emulation on the virtual clock: kernels and copies take exactly as long as they are to, whatever the device adds
// between one thing and the next.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "calibrate/devices/cuda/emulation.h"
#include "tests/cuda/cuda_copies.h"

namespace spillway {
namespace {

// Kernels take 5 us. Copies of 100 bytes take 1 us + 10 ns. A spin takes 700 ns more than it is told.
StandInOptions Machine(double spin_gap) {
  StandInOptions options = Plain();
  options.kernel_time = [](const OpCall&) { return 5000.0; };
  options.copy_latency = 1000;
  options.copy_rate = {10, 10};
  options.spin_gap = spin_gap;
  options.poll_cost = 0;
  return options;
}

std::map<std::uint32_t, Nanos> Lengths(const ExecuteResult& result) {
  std::map<std::uint32_t, Nanos> lengths;
  for (const Span& span : result.timeline.spans) lengths[span.instruction] = span.end - span.start;
  return lengths;
}

ExecuteResult Emulated(const CudaEmulation& emulate, double spin_gap, CudaCopies& c,
                       const Program& program = SwapProgram().program) {
  CudaStandIn cuda(Machine(spin_gap));
  ExecuteResult result = c.Run(program, cuda, {.iterations = 2, .instrumented = true}, {.emulate = emulate});
  CHECK(Wrong(cuda) == "");
  return result;
}

TEST_CASE("kernels take c times as long, copies as long as before, and compute the same") {
  const SwapProgram s;
  for (const double gap : {0.0, 700.0}) {
    CudaCopies c;
    const ExecuteResult result = Emulated({.compute_slowdown = 5}, gap, c);
    REQUIRE(Says(result) == "");
    CHECK(c.values.result == Input(1));
    for (const auto& [instruction, length] : Lengths(result)) {
      CHECK(length == (s.program.code[instruction].opcode == Opcode::kKernel ? 25000 : 1010));
    }
    CHECK(result.timeline.makespan == 3 * 25000 + 3 * 1010);  // each needs the one before
  }
}

TEST_CASE("copies take bytes / rate, kernels as long as before") {
  const SwapProgram s;
  for (const double gap : {0.0, 700.0}) {
    CudaCopies c;
    const ExecuteResult result = Emulated({.link_rate = 0.02}, gap, c);
    REQUIRE(Says(result) == "");
    CHECK(c.values.result == Input(1));
    for (const auto& [instruction, length] : Lengths(result)) {
      CHECK(length == 5000);  // 100 bytes at 0.02 bytes per ns; kernels happen to take as long
    }
  }
}

TEST_CASE("a link cannot be made faster than it is") {
  CudaCopies c;
  const ExecuteResult result = Emulated({.link_rate = 1000}, 0, c);
  CHECK(Lengths(result).at(SwapProgram().upload) == 1010);
}

TEST_CASE("both at once: a step takes what the emulated machine would take") {
  CudaCopies c;
  const ExecuteResult result = Emulated({.compute_slowdown = 2, .link_rate = 0.01}, 300, c);
  CHECK(result.timeline.makespan == 3 * 10000 + 3 * 10000);
}

TEST_CASE("the spins that pace a link go before kernels that wait") {
  CudaCopies c;
  CudaStandIn cuda(Machine(0));
  CudaDevice device({.emulate = {.link_rate = 0.02}}, cuda, cuda);
  REQUIRE(Says(Execute(SwapProgram().program, &c.step, device, cuda, {})) == "");
  int spins = 0, kernels = 0;
  cuda.ForgetDone();
  REQUIRE(Says(Execute(SwapProgram().program, &c.step, device, cuda, {})) == "");
  for (const CudaStandIn::Done& done : cuda.done()) {
    if (done.work == CudaStandIn::Work::kSpin) CHECK((++spins, done.urgent));
    if (done.work == CudaStandIn::Work::kKernel) CHECK((++kernels, !done.urgent));
  }
  CHECK(spins > 0);
  CHECK(kernels > 0);
}

// 10 MB go in pieces of 4, 4 and 1.6 MiB, each followed by a spin.
TEST_CASE("large copies are paced in pieces, and arrive as over the slow link") {
  ProgramBuilder b;
  const Bytes bytes = 10 * kMB;
  const BufferId from = b.Host(bytes), on_device = b.Device(bytes), to = b.Host(bytes);
  b.Copy(kIn, from, on_device);
  b.Wait(kOut, b.Record(kIn));
  b.Copy(kOut, on_device, to);
  const Program program = b.Build();
  CudaCopies c;
  CudaStandIn cuda(Machine(700));
  CudaDevice device({.emulate = {.link_rate = 2.5}}, cuda, cuda);
  const ExecuteResult result = Execute(program, nullptr, device, cuda, {.iterations = 2, .instrumented = true});
  REQUIRE(Says(result) == "");
  for (const auto& [instruction, length] : Lengths(result)) CHECK(length == 4 * kMillisecond);
  std::vector<const CudaStandIn::Done*> pieces;
  for (const CudaStandIn::Done& done : cuda.done()) {
    if (done.work == CudaStandIn::Work::kCopy && done.bytes < kPacedPiece) pieces.push_back(&done);
  }
  CHECK(pieces.back()->bytes == bytes - 2 * kPacedPiece);
}

TEST_CASE("pieces and spins are measured as they are") {
  CudaStandIn cuda(Machine(700));
  const LinkTimes times = MeasurePieces(cuda);
  for (const PieceTime& time : times) {
    CHECK(time.Of(0) == Approx(1700));
    CHECK(time.Of(1000) == Approx(1800));
  }
  CHECK(MeasureSpinGap(cuda) == Approx(700));
  CHECK(Wrong(cuda) == "");
}

TEST_CASE("kernels are rehearsed one by one, in any number") {
  CudaStandIn cuda(Machine(0));
  std::vector<std::unique_ptr<CudaKernel>> kernels;
  for (int k = 0; k < 75; ++k) {
    OpCall call;
    call.launch.shape.in.c = k + 1;
    kernels.push_back(cuda.Prepare(call));
  }
  std::vector<std::size_t> order;
  const std::vector<double> times = RehearseKernels(cuda, kernels.size(), [&](std::size_t k, CudaStream* stream) {
    order.push_back(k);
    cuda.Spin(static_cast<double>(10 * k), stream);
  });
  REQUIRE(times.size() == 75);
  for (std::size_t k = 0; k < times.size(); ++k) {
    CHECK(times[k] == static_cast<double>(10 * k));
    CHECK(order[k] == k);
  }
}

// A call may be many kernels: here 60, in queues of 600. Eight calls and their events fit, ten would not.
TEST_CASE("few kernels are rehearsed behind one hold, and none of it waits for the host") {
  StandInOptions options = Machine(0);
  options.queue = 600;
  CudaStandIn cuda(options);
  const auto many = [&](std::size_t, CudaStream* stream) {
    for (int k = 0; k < 60; ++k) cuda.Spin(50, stream);
  };
  CHECK(RehearseKernels(cuda, 40, many) == std::vector<double>(40, 3000));
  for (const CudaStandIn::Done& done : cuda.done()) {
    if (done.work == CudaStandIn::Work::kHold) CHECK(done.end - done.start < static_cast<double>(kCudaLongestHold));
  }
  CHECK(cuda.violations() == std::vector<std::string>{});
}

// One call fills the queue: the hold runs out, and the same is timed without it.
TEST_CASE("a rehearsal whose hold runs out is repeated without one") {
  StandInOptions options = Machine(0);
  options.queue = 20;
  CudaStandIn cuda(options);
  const auto many = [&](std::size_t, CudaStream* stream) {
    for (int k = 0; k < 60; ++k) cuda.Spin(50, stream);
  };
  CHECK(RehearseKernels(cuda, 3, many) == std::vector<double>(3, 3000));
}

TEST_CASE("what was rehearsed once is not rehearsed again") {
  CudaCopies c;
  CudaStandIn cuda(Machine(0));
  CudaDevice device({.emulate = {.compute_slowdown = 2}}, cuda, cuda);
  const Program program = SwapProgram().program;
  const auto kernels = [&] {
    const std::uint32_t before = cuda.count(StandInFault::What::kLaunch);
    REQUIRE(Says(Execute(program, &c.step, device, cuda, {})) == "");
    return cuda.count(StandInFault::What::kLaunch) - before;
  };
  CHECK(kernels() == 4 * 3 + 3);
  CHECK(kernels() == 3);
}

TEST_CASE("kernels are rehearsed on numbers, all over the arena; the step starts without them") {
  CudaCopies c;
  StandInOptions options = Machine(0);
  const CudaStandIn* stand_in = nullptr;
  std::vector<std::vector<float>> arenas;  // as each kernel finds it
  options.kernel_time = [&](const OpCall&) {
    for (const auto& [at, allocation] : stand_in->allocations()) {
      if (!allocation.device) continue;
      arenas.emplace_back(static_cast<std::size_t>(allocation.bytes) / sizeof(float));
      std::memcpy(arenas.back().data(), at, arenas.back().size() * sizeof(float));
    }
    return 5000.0;
  };
  CudaStandIn cuda(options);
  stand_in = &cuda;
  const ExecuteResult result =
      c.Run(SwapProgram().program, cuda, {.arena_bytes = 3 * kMiB}, {.emulate = {.compute_slowdown = 2}});
  REQUIRE(Says(result) == "");
  REQUIRE(arenas.size() == 4 * 3 + 3);
  const std::vector<float>& first = arenas.front();
  CHECK(std::count(first.begin(), first.end(), 0.0f) < static_cast<std::ptrdiff_t>(first.size() / 100));
  CHECK(std::all_of(first.begin(), first.end(), [](float x) { return std::abs(x) < 0.125f; }));
  CHECK(std::set<float>(first.begin(), first.end()).size() > 1000);
  CHECK(std::count(arenas.back().begin(), arenas.back().end(), 0.0f) > static_cast<std::ptrdiff_t>(first.size() / 2));
  CHECK(Wrong(cuda) == "");
}

}  // namespace
}  // namespace spillway
