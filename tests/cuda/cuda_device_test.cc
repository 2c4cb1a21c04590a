// The CUDA device keeps its contract over the stand-in: order, contents, events, spans, memory. Programs by hand; failures
// are in cuda_failures_test, networks in cuda_numerics_test and cuda_order_test.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/cuda/cuda_copies.h"
#include "tests/device_contract.h"
#include "tests/hand_session.h"

namespace spillway {
namespace {

TEST_CASE("values go through kernels, out of memory and back") {
  CudaCopies c;
  for (const bool debug : {false, true}) {
    for (const bool sync : {false, true}) {
      for (const bool instrumented : {false, true}) {
        CudaStandIn cuda(Plain());
        const ExecuteResult result =
            c.Run(SwapProgram(sync).program, cuda, {.iterations = 3, .instrumented = instrumented, .debug = debug});
        REQUIRE(Says(result) == "");
        CHECK(result.step_times.size() == 3);
        CHECK(c.values.result == Input(2));
        CHECK(Wrong(cuda) == "");
      }
    }
  }
}

TEST_CASE("any order that streams and events allow gives the same") {
  CudaCopies c;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    StandInOptions options = Plain();
    options.shuffle_seed = seed;  // of what the device does, and of what it is given
    CudaStandIn cuda(options);
    REQUIRE(Says(c.Run(SwapProgram().program, cuda, {.iterations = 4, .debug = true, .shuffle_seed = seed})) == "");
    REQUIRE(c.values.result == Input(3));
    REQUIRE(Wrong(cuda) == "");
  }
}

// Kernels take 5 us, copies of 100 bytes 2 us: upload 0-2, f 2-7, out 7-9, in 9-11, g 11-16, u 16-21.
StandInOptions Timed() {
  StandInOptions options = Plain();
  options.kernel_time = [](const OpCall&) { return 5000.0; };
  options.copy_latency = 1000;
  options.copy_rate = {0.1, 0.1};
  options.poll_cost = 0;
  return options;
}
std::string Text(const std::vector<Span>& spans) {
  std::string text;
  for (const Span& span : spans) text += std::to_string(span.start) + "-" + std::to_string(span.end) + " ";
  return text;
}

TEST_CASE("spans are those of the last step, by events around each kernel and copy") {
  CudaCopies c;
  CudaStandIn cuda(Timed());
  const ExecuteResult result = c.Run(SwapProgram().program, cuda, {.iterations = 2, .instrumented = true});
  REQUIRE(Says(result) == "");
  CHECK(Text(result.timeline.spans) == "0-2000 2000-7000 7000-9000 9000-11000 11000-16000 16000-21000 ");
  CHECK(result.timeline.makespan == 21000);
  CHECK(result.step_times == std::vector<Nanos>{21000, 21000});
  CudaStandIn other(Timed());
  CHECK(c.Run(SwapProgram().program, other).timeline.spans.empty());
}

TEST_CASE("the host waits at host syncs and at the end, and issues at its own pace") {
  CudaCopies c;
  StandInOptions options = Timed();
  options.call_cost = 100;
  CudaStandIn cuda(options);
  const SwapProgram s(true);
  const ExecuteResult result = c.Run(s.program, cuda, {.instrumented = true});
  REQUIRE(Says(result) == "");
  // What is issued behind the sync starts after the copy out has ended; before it, the host is ahead.
  const std::vector<Span>& spans = result.timeline.spans;
  REQUIRE(spans.size() == 6);
  CHECK(spans[2].end - spans[2].start == 2000);
  CHECK(spans[3].start > spans[2].end);
  CHECK(spans[1].start == spans[0].end);
}

// ---- memory -------------------------------------------------------------------------------------------------------------

TEST_CASE("one allocation of exactly the arena, one of pinned memory, kept for the next session") {
  CudaCopies c;
  CudaStandIn cuda(Plain());
  CudaDevice device({}, cuda, cuda);
  const SwapProgram s;
  for (int session = 0; session < 2; ++session) {
    HandSession hand(s.program, &c.step, device);
    hand.session().arena_bytes = 5000;
    hand.Begin();
    std::vector<Bytes> on_device, pinned;
    for (const auto& [at, allocation] : cuda.allocations()) {
      (allocation.device ? on_device : pinned).push_back(allocation.bytes);
    }
    CHECK(on_device == std::vector<Bytes>{5000});
    CHECK(pinned.size() == 1);
    CHECK(pinned[0] >= 2 * 4096);
    CHECK(device.host_bytes() == 2 * 4096);  // two buffers, from a page's beginning each
    CHECK(device.library_bytes() == 0);
  }
  CHECK(cuda.count(StandInFault::What::kMallocHost) == 1);
  CHECK(cuda.count(StandInFault::What::kMalloc) == 2);
  CHECK(cuda.leaks() == "1 allocations, 1 kernels");
  device.Forget();
  CHECK(Wrong(cuda) == "");
}

TEST_CASE("memory in use on the GPU is told: before, and at most in the session") {
  CudaCopies c;
  StandInOptions options = Plain();
  options.context_bytes = 500 * kMB;
  options.library_bytes = 20 * kMB;
  CudaStandIn cuda(options);
  CudaDevice device({}, cuda, cuda);
  Execute(SwapProgram().program, &c.step, device, cuda, {.arena_bytes = 5 * kMB});
  CHECK(device.memory().before == 500 * kMB);
  CHECK(device.memory().highest == 525 * kMB);
  CHECK(device.memory().beside == 520 * kMB);
  CHECK(device.memory().total == kGiB);
}

TEST_CASE("the highest byte that changes is found, also when it is freed and filled again") {
  CudaCopies c;
  CudaStandIn cuda(Plain());
  ExecuteResult result = c.Run(SwapProgram().program, cuda, {.arena_bytes = 5000, .debug = true});
  REQUIRE(Says(result) == "");
  CHECK(result.high_water == 768 + kBytes);
  CHECK(c.Run(SwapProgram().program, cuda, {.arena_bytes = 5000}).high_water == 0);
  // Also in an arena of several staging areas.
  result = c.Run(SwapProgram().program, cuda, {.arena_bytes = 21 * kMB, .iterations = 2, .debug = true},
                 {.staging = 4 * kMiB});
  REQUIRE(Says(result) == "");
  CHECK(result.high_water == 768 + kBytes);
  CHECK(Wrong(cuda) == "");
}

// The arena is looked at by words from its end: the byte may lie anywhere in one, and in front of the first whole one.
TEST_CASE("the highest byte is found to the byte, in arenas of any length") {
  CudaCopies c;
  const SwapProgram s;
  for (const Bytes arena : {5000, 5001, 5007, 4999}) {
    for (const Bytes highest : {arena, arena - 1, arena - 7, arena - 8, arena - 9, Bytes{900}}) {
      CudaStandIn cuda(Plain());
      CudaDevice device({}, cuda, cuda);
      HandSession hand(s.program, &c.step, device);
      hand.session().arena_bytes = arena;
      hand.session().debug = true;
      hand.Begin();
      const std::byte written{1};
      device.Write({.buffer = 0, .offset = highest - 1, .bytes = 1}, std::span(&written, 1));
      CHECK(device.HighWater() == highest);
    }
  }
}

TEST_CASE("freed memory is NaN, that of residents is not") {
  CudaCopies c;
  CudaStandIn cuda(Plain());
  CudaDevice device({}, cuda, cuda);
  CheckNothingIsNan(device, c.step);
}

TEST_CASE("parameters that are NaN are found out in debug sessions") {
  CudaCopies c;
  const SwapProgram s;
  Program program = s.program;  // without the swap-in: g reads what was never written
  std::uint32_t swap_in = 0;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    const Instruction in = program.code[i];
    if (in.opcode == Opcode::kCopy && program.copies[in.arg].to == s.again) swap_in = i;
  }
  program.code.erase(program.code.begin() + swap_in);
  CudaStandIn cuda(Plain());
  const ExecuteResult result = c.Run(program, cuda, {.debug = true});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("p holds NaN after the step") != std::string::npos);
  CHECK(Wrong(cuda) == "");
}

// The out-of-core Program without one wait, in many orders: in some the wrong numbers come out, or NaN.
TEST_CASE("a Program that lacks a wait is found out in some order") {
  CudaCopies c;
  const SwapProgram s;
  for (const std::uint32_t left_out : {s.wait_out, s.wait_in}) {
    Program program = s.program;
    REQUIRE(program.code[left_out].opcode == Opcode::kWait);
    program.code.erase(program.code.begin() + left_out);
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      StandInOptions options = Plain();
      options.shuffle_seed = seed;
      CudaStandIn cuda(options);
      const bool fails = Says(c.Run(program, cuda, {.iterations = 2, .debug = true})) != "";
      found += fails || c.values.result != Input(1) ? 1 : 0;
      CHECK(Wrong(cuda) == "");
    }
    CHECK(found > 0);
  }
}

// ---- sessions without a step ---------------------------------------------------------------------------------------------

TEST_CASE("a session without a step: launches of nothing, copies of pieces, events") {
  ProgramBuilder b;
  const BufferId from = b.Host(kBytes), device_buffer = b.Device(kBytes), to = b.Host(kBytes);
  for (int k = 0; k < 100; ++k) b.Kernel({});
  b.Copy(kIn, from, device_buffer);
  b.Wait(kOut, b.Record(kIn));
  b.Copy(kOut, device_buffer, to, 40, 60);  // the last ten numbers
  b.Sync(b.Record(kOut));
  const Program program = b.Build();
  CudaCopies c;
  CudaStandIn cuda(Plain());
  {
    CudaDevice device({}, cuda, cuda);
    HandSession hand(program, nullptr, device);
    hand.Begin();
    const Numbers counted = Input(0), zeros(kElements, 0.0f);
    device.Write(LocationOf(program, from), std::as_bytes(std::span(counted)));
    device.Write(LocationOf(program, to), std::as_bytes(std::span(zeros)));
    device.BeginStep();
    hand.GiveAll();
    device.EndStep();
    Numbers numbers(kElements);
    device.Read(LocationOf(program, to), std::as_writable_bytes(std::span(numbers)));
    Numbers wanted = counted;
    std::fill(wanted.begin(), wanted.begin() + 15, 0.0f);
    CHECK(numbers == wanted);
    CHECK(std::isnan(device.losses().at(0)));
    const auto spins = std::count_if(cuda.done().begin(), cuda.done().end(),
                                     [](const auto& done) { return done.work == CudaStandIn::Work::kSpin; });
    CHECK(spins == 100);
  }
  CHECK(Wrong(cuda) == "");
}

TEST_CASE("a device may be ended at any time") {
  CudaCopies c;
  CudaStandIn cuda(Timed());
  {
    CudaDevice device({}, cuda, cuda);
    CheckEndsAtAnyTime(device, c.step);
  }
  CHECK(Wrong(cuda) == "");
}

TEST_CASE("options that make no sense are a user's mistake") {
  CudaCopies c;
  CudaStandIn cuda(Plain());
  for (const CudaEmulation& emulate : {CudaEmulation{.compute_slowdown = 0.5}, CudaEmulation{.compute_slowdown = NAN},
                                       CudaEmulation{.link_rate = -1}, CudaEmulation{.link_rate = INFINITY}}) {
    CHECK_THROWS_AS(CudaDevice({.emulate = emulate}, cuda, cuda), UserError);
  }
  CHECK(Wrong(cuda) == "");
}

}  // namespace
}  // namespace spillway
