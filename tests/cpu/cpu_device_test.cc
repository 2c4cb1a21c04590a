// The CPU device keeps its contract: order, contents, events. Programs by hand; networks are in cpu_numerics_test, errors
// in cpu_device_errors_test, debug sessions in cpu_device_debug_test.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/cpu/cpu_copies.h"
#include "tests/device_contract.h"

namespace spillway {
namespace {

TEST_CASE("values go through kernels, out of memory and back") {
  CopyCase c;
  for (const bool debug : {false, true}) {
    for (const bool sync : {false, true}) {
      for (const double rate : {0.0, 0.01}) {
        const ExecuteResult result =
            c.Run(SwapProgram(sync).program, {.iterations = 3, .debug = debug}, {.link_rate = rate});
        REQUIRE(Says(result) == "");
        CHECK(result.step_times.size() == 3);
        CHECK(c.values.result == Input(2));
        for (const Nanos time : result.step_times) CHECK(time >= (rate > 0 ? 30000 : 1));  // three copies of 10 us
      }
    }
  }
}

TEST_CASE("any order of issue that streams and events allow gives the same") {
  CopyCase c;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    REQUIRE(Says(c.Run(SwapProgram().program, {.iterations = 4, .debug = true, .shuffle_seed = seed})) == "");
    REQUIRE(c.values.result == Input(3));
  }
}

TEST_CASE("spans are those of the last step, of kernels and copies, behind what they wait for") {
  CopyCase c;
  const ExecuteResult result =
      c.Run(SwapProgram().program, {.iterations = 2, .instrumented = true}, {.link_rate = 0.01});
  REQUIRE(Says(result) == "");
  const std::vector<Span>& spans = result.timeline.spans;  // upload, f, copy out, copy in, g, u: each needs the last
  REQUIRE(spans.size() == 6);
  Nanos last = 0;
  for (const Span& span : spans) {
    CHECK(span.start >= last);
    CHECK(span.end >= span.start);
    last = span.end;
  }
  CHECK(spans[0].end - spans[0].start >= 10000);
  CHECK(last <= result.timeline.makespan + 10 * kMicrosecond);  // both from about BeginStep
  CHECK(c.Run(SwapProgram().program, {}).timeline.spans.empty());
}

TEST_CASE("a session without a step: launches of nothing, copies, events") {
  ProgramBuilder b;
  const BufferId from = b.Host(kBytes), device_buffer = b.Device(kBytes), to = b.Host(kBytes);
  b.Alloc(kIn, device_buffer);
  for (int k = 0; k < 100; ++k) b.Kernel({});
  b.Copy(kIn, from, device_buffer);
  b.Wait(kOut, b.Record(kIn));
  b.Copy(kOut, device_buffer, to, 40, 60);  // the last ten numbers
  b.Sync(b.Record(kOut));
  b.Free(kOut, device_buffer);
  const Program program = b.Build();
  CopyCase c;
  CpuDevice device({}, kClock);
  HandSession hand(program, nullptr, device);
  hand.Begin();
  const Numbers counted = Input(0);
  device.Write(LocationOf(program, from), std::as_bytes(std::span(counted)));
  device.BeginStep();
  hand.GiveAll();
  device.EndStep();
  Numbers numbers(kElements);
  device.Read(LocationOf(program, to), std::as_writable_bytes(std::span(numbers)));
  Numbers wanted = counted;
  std::fill(wanted.begin(), wanted.begin() + 15, 0.0f);
  CHECK(numbers == wanted);
  CHECK(device.host_bytes() >= 2 * kBytes);
}

TEST_CASE("a launch without a step computes what its shape says") {
  ProgramBuilder b;
  const BufferId x = b.Host(kBytes), in = b.Device(kBytes), out = b.Device(kBytes), y = b.Host(kBytes);
  b.Copy(kIn, x, in);
  b.Wait(kCompute, b.Record(kIn));
  b.Kernel({Rd(in), Wr(out)});
  b.Wait(kOut, b.Record(kCompute));
  b.Copy(kOut, out, y);
  Program program = b.Build();
  program.launches[0].kind = OpKind::kRelu;
  program.launches[0].shape.in = program.launches[0].shape.out = {.n = 1, .c = kElements};
  CopyCase c;
  CpuDevice device({}, kClock);
  HandSession hand(program, nullptr, device);
  hand.Begin();
  Numbers numbers = Input(0), result(kElements);
  numbers[3] = -3;
  device.Write(LocationOf(program, x), std::as_bytes(std::span(numbers)));
  device.BeginStep();
  hand.GiveAll();
  device.EndStep();
  device.Read(LocationOf(program, y), std::as_writable_bytes(std::span(result)));
  numbers[3] = 0;
  CHECK(result == numbers);
}

TEST_CASE("a device may be ended at any time") {
  CopyCase c;
  CpuDevice device({}, kClock);
  CheckEndsAtAnyTime(device, c.step);
}

TEST_CASE("a device says how it is pinned") {
  CopyCase c;
  CpuDevice device({}, kClock);
  for (int session = 0; session < 2; ++session) {
    const SwapProgram s;
    HandSession hand(s.program, &c.step, device);
    hand.Begin();
    CHECK(device.LastSession().placement != "");
  }
}

}  // namespace
}  // namespace spillway
