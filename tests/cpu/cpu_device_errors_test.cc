// What goes wrong on the CPU device is told with the instruction, and the device can be used again.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <thread>

#include "calibrate/devices/cpu/event.h"
#include "tests/cpu/cpu_copies.h"

namespace spillway {
namespace {

TEST_CASE("a kernel that fails is named, and the device can be used again") {
  CopyCase c;
  const SwapProgram s;
  int kernels = 0;
  CpuDevice device({.before =
                        [&](Issue issue) {
                          if (issue.stream != kCompute) return;
                          if (++kernels == 5) throw std::runtime_error("cannot go on");  // g, second step
                        }},
                   kClock);
  Counting values;
  const ExecuteOptions options{.iterations = 3, .values = &values};
  const ExecuteResult result = Execute(s.program, &c.step, device, kClock, options);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kFailed);
  CHECK(result.failure->iteration == 1);
  CHECK(result.failure->message.find("kernel g") != std::string::npos);
  CHECK(result.failure->message.find("cannot go on") != std::string::npos);
  CHECK(result.step_times.size() == 1);
  CHECK(kernels == 5);  // u was left out
  CHECK(Says(Execute(s.program, &c.step, device, kClock, options)) == "");
  CHECK(values.result == Input(2));
}

TEST_CASE("a stream that stands still is hung, not waited for for ever") {
  CopyCase c;
  const SwapProgram s(true);
  CpuEvent gate, reached;
  const auto before = [&](Issue issue) {
    if (issue.stream != kCompute) return;
    reached.Fire();
    gate.Wait({});
  };
  CpuDevice device({.patience = 30 * kMillisecond, .before = before}, kClock);
  const auto is_sync = [&](std::uint32_t i) { return s.program.code[i].opcode == Opcode::kHostSync; };
  for (const bool at_end : {false, true}) {
    gate.Reset();
    reached.Reset();
    HandSession hand(s.program, &c.step, device);
    hand.Begin();
    device.BeginStep();
    std::uint32_t next = 0;
    for (; next < s.program.code.size() && (at_end || !is_sync(next)); ++next) {
      if (!is_sync(next)) hand.Give(next);
    }
    reached.Wait({});  // f: everything before it is done, everything behind it waits
    try {
      at_end ? device.EndStep() : hand.Give(next);
      FAIL("it is not hung");
    } catch (const DeviceError& error) {
      CHECK(error.fault() == Fault::kHung);
      CHECK(s.program.code[error.instruction()].opcode == Opcode::kKernel);  // f, not who waits for it
    }
    gate.Fire();
  }
}

TEST_CASE("what hangs is left behind, touches nothing of the caller's any more and goes when it comes back") {
  CopyCase c;
  CpuEvent gate;
  std::atomic<bool> hangs{true};
  const auto token = std::make_shared<int>();  // held by whoever holds the options
  const auto before = [&, token](Issue issue) {
    if (issue.stream == kCompute && hangs) gate.Wait({});
  };
  CpuDevice device({.patience = 30 * kMillisecond, .before = before}, kClock);
  const long owners = token.use_count();
  const Nanos begin = kClock.Now();
  {
    const auto step = std::make_unique<TrainingStep>(c.step);
    const auto s = std::make_unique<SwapProgram>();
    const ExecuteResult result = Execute(s->program, step.get(), device, kClock, {.instrumented = true});
    REQUIRE(result.failure);
    CHECK(result.failure->fault == Fault::kHung);
  }
  CHECK(kClock.Now() - begin < 30 * kSecond);
  CHECK(token.use_count() > owners);  // the session is still there
  // The device goes on beside it.
  hangs = false;
  const SwapProgram s;
  CHECK(Says(Execute(s.program, &c.step, device, kClock, {.values = &c.values})) == "");
  CHECK(c.values.result == Input(0));
  gate.Fire();
  while (token.use_count() > owners && kClock.Now() - begin < 60 * kSecond) std::this_thread::yield();
  CHECK(token.use_count() == owners);
}

// What a call by hand is answered with.
template <typename Call>
std::string Refusal(Fault fault, Call call) {
  try {
    call();
  } catch (const DeviceError& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  return "";
}

TEST_CASE("calls against the contract are refused") {
  CopyCase c;
  const SwapProgram s;
  CpuDevice device({}, kClock);
  HandSession hand(s.program, &c.step, device);
  hand.Begin();
  device.BeginStep();
  const auto refusal = [](auto call) { return Refusal(Fault::kContract, call); };
  CHECK(refusal([&] { device.Wait({3, kCompute}, 0); }) == "event 0 is not recorded before");
  CHECK(refusal([&] { device.HostSync({3, kCompute}, 1); }) == "event 1 is not recorded before");
  CHECK(refusal([&] { device.Record({2, kIn}, 99); }) == "there is no event 99");
  device.Record({2, kIn}, 0);
  CHECK(refusal([&] { device.Record({2, kIn}, 0); }) == "event 0 is recorded a second time");
  CHECK(refusal([&] { device.Wait({3, 7}, 0); }) == "there is no stream 7");
  const Copy copy{.from = s.host_in, .to = s.in, .bytes = kBytes};
  CopyCall call{.issue = {s.upload, kOut},
                .copy = &copy,
                .from = LocationOf(s.program, s.host_in),
                .to = LocationOf(s.program, s.in)};
  CHECK(refusal([&] { device.Enqueue(call); }) == "the stream does not copy in this direction");
  call.issue.stream = kIn;
  call.to.offset = 800;
  CHECK(refusal([&] { device.Enqueue(call); }) == "buffer 2 at [800, 900) lies outside the arena of 868 bytes");
  call.to.offset = 0;
  CHECK(refusal([&] { device.Enqueue(call); }) == "it is issued a second time");
  CHECK(refusal([&] { device.EndStep(); }) == "event 1 is never recorded");
}

TEST_CASE("operands that are missing, too small or outside are refused before anything runs") {
  CopyCase c;
  const SwapProgram s;
  const auto fails = [&](auto change) {
    Program program = s.program;
    change(program);
    const ExecuteResult result = c.Run(program, {.arena_bytes = 2000});
    REQUIRE(result.failure.has_value());
    CHECK(result.failure->fault == Fault::kContract);
    CHECK(result.failure->iteration == -1);
    return Says(result);
  };
  CHECK(fails([&](Program& p) { p.operands[1].access = Access::kRead; }).find("f: it has no operand to write y to") !=
        std::string::npos);
  CHECK(fails([&](Program& p) { p.buffers[s.y].tensor = kNoTensor; }).find("no operand to write y") !=
        std::string::npos);
  CHECK(fails([&](Program& p) { p.buffers[s.y].bytes = 96; }).find("buffer 3 has 96 bytes, y needs 100") !=
        std::string::npos);
  CHECK(fails([&](Program& p) { p.buffers[s.z].offset = -8; }).find("outside the arena") != std::string::npos);
}

TEST_CASE("too little host memory is told with the sizes") {
  CopyCase c;
  ExecuteResult result = c.Run(SwapProgram().program, {.arena_bytes = 5 * kMB}, {.available_memory = 4 * kMB});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kNoMemory);
  CHECK(Says(result) ==
        "an arena of 5.00 MB, host buffers of 8.19 kB and 0 B for the library are more than the 4.00 MB of memory that "
        "this machine has available");
  result = c.Run(SwapProgram().program, {.arena_bytes = Bytes{1} << 50});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kNoMemory);
  // Had the machine said that there is as much, the system refuses it.
  result = c.Run(SwapProgram().program, {.arena_bytes = Bytes{1} << 55}, {.available_memory = Bytes{1} << 60});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kNoMemory);
  CHECK(Says(result).find("the system refuses") != std::string::npos);
}

TEST_CASE("what the library refuses is named before anything runs") {
  CopyCase c;
  Program program = SwapProgram().program;
  const auto refused = [&] {
    const ExecuteResult result = c.Run(program, {});
    REQUIRE(result.failure.has_value());
    CHECK(result.failure->fault == Fault::kRefused);
    CHECK(result.failure->iteration == -1);
    CHECK(result.step_times.empty());
    return Says(result);
  };
  program.launches[0].type = DataType::kFp16;
  std::string says = refused();
  CHECK(says.find("kernel f") != std::string::npos);  // the instruction
  CHECK(says.find("fp16") != std::string::npos);
  Launch& launch = program.launches[0];  // no workspace, and no algorithm without
  launch = {};
  launch.kind = OpKind::kConvolution;
  launch.workspace = 0;
  launch.shape.in = launch.shape.out = {2, 16, 1, 9, 9};
  launch.shape.window = {1, 3, 3};
  launch.shape.pad = {0, 1, 1};
  says = refused();
  CHECK(says.find("f: convolution forward 2x16x9x9") != std::string::npos);
}

TEST_CASE("options that make no sense are a user's mistake") {
  CopyCase c;
  CHECK_THROWS_AS(CpuDevice({.link_rate = -1}, kClock), UserError);
  CHECK_THROWS_AS(CpuDevice({.link_rate = NAN}, kClock), UserError);
  CHECK_THROWS_AS(CpuDevice({.threads = 0}, kClock), UserError);
}

}  // namespace
}  // namespace spillway
