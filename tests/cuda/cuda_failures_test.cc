// What goes wrong on a GPU ends in one clear DeviceError, with everything given back: every call of every kind fails once.
#include <catch2/catch.hpp>

#include "tests/cuda/cuda_copies.h"
#include "tests/deep.h"
#include "tests/hand_session.h"

namespace spillway {
namespace {

using What = StandInFault::What;

StandInOptions Faulty(What what, std::uint32_t nth) {
  StandInOptions options = Plain();
  options.fault = {what, nth};
  return options;
}

// Nothing is forgotten, all of it is instrumented.
const ExecuteOptions kAll{.arena_bytes = 5000, .iterations = 2, .instrumented = true, .debug = true};
const CudaDeviceOptions kEmulating{.emulate = {.compute_slowdown = 3, .link_rate = 1}, .patience = 10 * kMillisecond};

struct Outcome {
  std::string says;
  Fault fault = Fault::kFailed;
  std::uint32_t instruction = kNoInstruction;
  std::string wrong;  // leaks, violations
  bool completed = true;
};

Outcome RunOnce(CudaCopies& c, CudaStandIn& cuda, const Program& program, const ExecuteOptions& options,
                const CudaDeviceOptions& device) {
  Outcome outcome;
  try {
    const ExecuteResult result = c.Run(program, cuda, options, device);
    outcome.completed = !result.failure;
    if (result.failure) {
      outcome.says = result.failure->message;
      outcome.fault = result.failure->fault;
      outcome.instruction = result.failure->instruction;
    }
  } catch (const DeviceError& error) {  // the GPU did not even answer when the device was made
    outcome = {.says = error.what(), .fault = error.fault(), .wrong = "", .completed = false};
  }
  outcome.wrong = Wrong(cuda);
  return outcome;
}

std::uint32_t CountOf(What what, const Program& program, const ExecuteOptions& options,
                      const CudaDeviceOptions& device) {
  CudaCopies c;
  CudaStandIn cuda(Faulty(What::kNone, 0));
  REQUIRE(RunOnce(c, cuda, program, options, device).completed);
  return cuda.count(what);
}

struct Expected {
  What what;
  Fault fault;
  const char* word;
};

TEST_CASE("each call of each kind may fail: one error that says what, nothing leaks, the GPU can be used again") {
  const Expected expected = GENERATE(Expected{What::kMalloc, Fault::kNoMemory, "out of memory"},
                                     Expected{What::kMallocHost, Fault::kNoMemory, "out of memory"},
                                     Expected{What::kMakeStream, Fault::kFailed, "cudaStreamCreateWithFlags"},
                                     Expected{What::kMakeEvent, Fault::kFailed, "cudaEventCreateWithFlags"},
                                     Expected{What::kPrepare, Fault::kRefused, "not supported"},
                                     Expected{What::kRecord, Fault::kFailed, "cudaEventRecord"},
                                     Expected{What::kWait, Fault::kFailed, "cudaStreamWaitEvent"},
                                     Expected{What::kCopyCall, Fault::kFailed, "cudaMemcpyAsync"},
                                     Expected{What::kLaunch, Fault::kFailed, "kernel.Run"});
  const Program program = SwapProgram(true).program;
  for (const CudaDeviceOptions& device : {CudaDeviceOptions{}, kEmulating}) {
    for (const ExecuteOptions& options : {ExecuteOptions{.iterations = 2}, kAll}) {
      const std::uint32_t count = CountOf(expected.what, program, options, device);
      INFO(expected.word << ", " << count << " of them");
      CHECK(count > 0);
      for (std::uint32_t nth = device.emulate == CudaEmulation{} ? 0 : 1; nth < count;
           nth += Cases(6u, 2u)) {  // each on one of the devices in the deep tier
        CudaCopies c;
        CudaStandIn cuda(Faulty(expected.what, nth));
        const Outcome outcome = RunOnce(c, cuda, program, options, device);
        INFO(nth << ": " << outcome.says);
        if (outcome.completed) {  // End() waits for the three streams and its own, and has nobody to complain to
          CHECK((expected.what == What::kRecord && nth + 6 >= count));
          CHECK(outcome.wrong == "");
          continue;
        }
        CHECK(outcome.fault == expected.fault);
        CHECK(outcome.says.find(expected.word) != std::string::npos);
        CHECK(outcome.wrong == "");
        CHECK(RunOnce(c, cuda, program, options, device).completed);
        CHECK(c.values.result == Input(1));
        CHECK(Wrong(cuda) == "");
      }
    }
  }
}

TEST_CASE("what fails on the device, or loses it, at whichever call: one error, nothing leaks") {
  const What what = GENERATE(What::kCopyFails, What::kKernelFails, What::kLost);
  const Program program = SwapProgram(true).program;
  for (const CudaDeviceOptions& device : {CudaDeviceOptions{}, kEmulating}) {
    for (const ExecuteOptions& options : {ExecuteOptions{.iterations = 2}, kAll}) {
      const std::uint32_t count = CountOf(what, program, options, device);
      CHECK(count > 0);
      for (std::uint32_t nth = device.emulate == CudaEmulation{} ? 0 : 1; nth < count;
           nth += Cases(6u, 2u)) {  // each on one of the devices in the deep tier
        CudaCopies c;
        CudaStandIn cuda(Faulty(what, nth));
        const Outcome outcome = RunOnce(c, cuda, program, options, device);
        INFO(nth << " of " << count << ": " << outcome.says);
        CHECK(outcome.wrong == "");
        // The last calls are made when everything is known already: End() asks how much memory is in use.
        if (outcome.completed) CHECK((what == What::kLost && nth + 13 > count));
        if (outcome.completed) continue;
        CHECK(outcome.fault == Fault::kFailed);
        const char* const word = what == What::kLost ? "the device is lost" : "failed on the device";
        CHECK(outcome.says.find(word) != std::string::npos);
      }
    }
  }
}

// ---- who is to blame ----------------------------------------------------------------------------------------------------

std::uint32_t KernelNumber(const Program& program, int nth) {
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode == Opcode::kKernel && nth-- == 0) return i;
  }
  return kNoInstruction;
}

TEST_CASE("a call that fails is blamed on its instruction") {
  CudaCopies c;
  const SwapProgram s;
  CudaStandIn cuda(Faulty(What::kLaunch, 1));
  const Outcome outcome = RunOnce(c, cuda, s.program, {}, {});
  CHECK(outcome.instruction == KernelNumber(s.program, 1));
  CHECK(outcome.says.find("kernel g") != std::string::npos);
}

TEST_CASE("what fails on the device is blamed in debug sessions, if it is the only thing that ran") {
  const SwapProgram s;
  for (const int kernel : {0, 2}) {
    CudaCopies c;
    StandInOptions options = Faulty(What::kKernelFails, static_cast<std::uint32_t>(kernel));
    options.kernel_time = [](const OpCall&) { return 50000.0; };
    CudaStandIn cuda(options);
    const Outcome outcome = RunOnce(c, cuda, s.program, {.debug = true}, {});
    INFO(outcome.says);
    CHECK(outcome.says.find("failed on the device") != std::string::npos);
    // f fails when its input's copy was issued and is done; u with nothing behind it.
    if (kernel == 2) CHECK(outcome.instruction == KernelNumber(s.program, kernel));
    if (kernel == 0)
      CHECK((outcome.instruction == KernelNumber(s.program, 0) || outcome.says.find(" from ") != std::string::npos));
  }
}

TEST_CASE("a kernel that never ends is hung, not waited for for ever, and named") {
  const SwapProgram s(true);
  for (const bool debug : {false, true}) {
    for (const std::uint32_t kernel : {0u, 2u}) {
      CudaCopies c;
      CudaStandIn cuda(Faulty(What::kKernelHangs, kernel));
      const Outcome outcome = RunOnce(c, cuda, s.program, {.debug = debug}, {.patience = 30 * kMillisecond});
      INFO(outcome.says);
      CHECK(outcome.fault == Fault::kHung);
      CHECK(outcome.says.find("stream 0 gets nowhere for 30.0 ms") != std::string::npos);
      if (debug || kernel == 0) CHECK(outcome.instruction == KernelNumber(s.program, static_cast<int>(kernel)));
      if (!debug && kernel == 2) CHECK(outcome.says.find("one of 2 instructions") != std::string::npos);  // g, u
      CHECK(outcome.wrong == "");
      CHECK(cuda.Now() < 200 * kMillisecond);
    }
  }
}

TEST_CASE("an event that never fires is hung as well") {
  const Program program = SwapProgram(true).program;
  const std::uint32_t count = CountOf(What::kEventNeverFires, program, {}, {});
  for (std::uint32_t nth = 0; nth < count; ++nth) {
    CudaCopies c;
    CudaStandIn cuda(Faulty(What::kEventNeverFires, nth));
    const Outcome outcome = RunOnce(c, cuda, program, {}, {.patience = kMillisecond});
    INFO(nth << ": " << outcome.says);
    CHECK(outcome.wrong == "");
    if (outcome.completed) CHECK(nth + 6 >= count);  // End() waits for streams and gives up
    if (!outcome.completed) CHECK(outcome.fault == Fault::kHung);
  }
}

TEST_CASE("a step that takes long is not hung as long as something moves") {
  CudaCopies c;
  StandInOptions options = Plain();
  options.kernel_time = [](const OpCall&) { return 0.8e6; };
  options.copy_latency = 0.8e6;
  CudaStandIn cuda(options);
  CHECK(RunOnce(c, cuda, SwapProgram().program, {}, {.patience = kMillisecond}).says == "");
}

// ---- mistakes of the caller ---------------------------------------------------------------------------------------------

template <typename Call>
std::string Refusal(Call call) {
  try {
    call();
  } catch (const DeviceError& error) {
    CHECK(error.fault() == Fault::kContract);
    return error.what();
  }
  return "";
}

TEST_CASE("calls against the contract are refused") {
  CudaCopies c;
  const SwapProgram s;
  CudaStandIn cuda(Plain());
  CudaDevice device({}, cuda, cuda);
  HandSession hand(s.program, &c.step, device);
  hand.Begin();
  device.BeginStep();
  CHECK(Refusal([&] { device.Wait({3, kCompute}, 0); }) == "event 0 is not recorded before");
  CHECK(Refusal([&] { device.HostSync({3, kCompute}, 1); }) == "event 1 is not recorded before");
  CHECK(Refusal([&] { device.Record({2, kIn}, 99); }) == "there is no event 99");
  device.Record({2, kIn}, 0);
  CHECK(Refusal([&] { device.Record({2, kIn}, 0); }) == "event 0 is recorded a second time");
  CHECK(Refusal([&] { device.Wait({3, 7}, 0); }) == "there is no stream 7");
  const Copy copy{.from = s.host_in, .to = s.in, .bytes = kBytes};
  CopyCall call{.issue = {s.upload, kOut},
                .copy = &copy,
                .from = LocationOf(s.program, s.host_in),
                .to = LocationOf(s.program, s.in)};
  CHECK(Refusal([&] { device.Enqueue(call); }) == "the stream does not copy in this direction");
  call.issue.stream = kIn;
  call.to.offset = 800;
  CHECK(Refusal([&] { device.Enqueue(call); }) == "buffer 2 at [800, 900) lies outside the arena of 868 bytes");
  call.to.offset = 0;
  CHECK(Refusal([&] { device.Enqueue(call); }) == "it is issued a second time");
  CHECK(Refusal([&] { device.EndStep(); }) == "event 1 is never recorded");
}

TEST_CASE("operands that are missing, too small or outside are refused before anything runs") {
  CudaCopies c;
  const SwapProgram s;
  const auto fails = [&](auto change) {
    Program program = s.program;
    change(program);
    CudaStandIn cuda(Plain());
    const Outcome outcome = RunOnce(c, cuda, program, {.arena_bytes = 2000}, {});
    CHECK(outcome.fault == Fault::kContract);
    CHECK(outcome.wrong == "");
    CHECK(cuda.done().empty());
    return outcome.says;
  };
  CHECK(fails([&](Program& p) { p.operands[1].access = Access::kRead; }).find("f: it has no operand to write y to") !=
        std::string::npos);
  CHECK(fails([&](Program& p) { p.buffers[s.y].bytes = 96; }).find("buffer 3 has 96 bytes, y needs 100") !=
        std::string::npos);
  CHECK(fails([&](Program& p) { p.buffers[s.z].offset = -8; }).find("outside the arena") != std::string::npos);
  CHECK(fails([&](Program& p) { p.operands[0].buffer = s.host_in; }).find("on the host") != std::string::npos);
}

TEST_CASE("too little memory is told with the sizes") {
  CudaCopies c;
  StandInOptions options = Plain();
  options.memory = 4 * kMB;
  options.context_bytes = kMB;
  options.pinned = 6000;
  CudaStandIn cuda(options);
  Outcome outcome = RunOnce(c, cuda, SwapProgram().program, {.arena_bytes = 5 * kMB}, {});
  CHECK(outcome.fault == Fault::kNoMemory);
  CHECK(
      outcome.says ==
      "no room for an arena of 5.00 MB (3.00 MB of the device's 4.00 MB are free): cudaMalloc(&memory, bytes): out of "
      "memory");
  outcome = RunOnce(c, cuda, SwapProgram().program, {}, {});
  CHECK(outcome.fault == Fault::kNoMemory);
  CHECK(outcome.says.find("no room for host buffers of 24.6 kB in pinned memory: cudaMallocHost") == 0);
  CHECK(outcome.wrong == "");
}

}  // namespace
}  // namespace spillway
