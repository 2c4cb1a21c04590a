// The CPU device keeps its contract: order, contents, events, errors. Programs by hand; networks are in
// cpu_numerics_test.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "calibrate/cpu/canary.h"
#include "calibrate/cpu/device.h"
#include "calibrate/cpu/event.h"
#include "calibrate/execute.h"
#include "calibrate/steady_clock.h"
#include "model/network_builder.h"
#include "tests/hand_session.h"
#include "tests/program_builder.h"

namespace spillway {
namespace {

using Numbers = std::vector<float>;
constexpr Bytes kBytes = 100;  // of every tensor
constexpr std::size_t kElements = 25;

// All ops are copies of a tensor: what comes out is what went in.
//
//   f    in     -> y         g    y      -> z         u    z, p   -> p
struct CopyStep {
  enum : TensorId { in, y, z, p };
  enum : OpId { f, g, u };
  static TrainingStep Build() {
    StepBuilder s;
    s.Tensor("in", TensorClass::kInput, kBytes);
    s.Tensor("y", TensorClass::kFeatureMap, kBytes);
    s.Tensor("z", TensorClass::kTransient, kBytes);
    s.Tensor("p", TensorClass::kParameter, kBytes);
    s.Op("f", {in}, {y});
    s.Op("g", {y}, {z});
    s.Op("u", {z, p}, {p});
    TrainingStep step = s.Build();
    for (Op& op : step.ops) op.shape.in = op.shape.out = {.n = 1, .c = static_cast<std::int64_t>(kElements)};
    return step;
  }
  // In it only the attributes of a layer are looked up.
  static Network Net() {
    NetworkBuilder b("copies", {.n = 1, .c = static_cast<std::int64_t>(kElements)});
    return b.Loss(b.Linear("fc", kNetworkInput, 2));
  }
};

// y goes out and comes back elsewhere. Buffers: in, y, p at 0, 256, 512; y again at 768, z over in.
struct SwapProgram {
  BufferId host_in, host_y, in, y, p, again, z;
  std::uint32_t upload = 0, copy_out = 0, wait_out = 0, wait_in = 0;  // instructions
  Program program;
  explicit SwapProgram(bool sync = false) {
    ProgramBuilder b;
    host_in = b.Host(kBytes, CopyStep::in);
    host_y = b.Host(kBytes, CopyStep::y);
    in = b.DeviceAt(0, kBytes, CopyStep::in);
    y = b.DeviceAt(256, kBytes, CopyStep::y);
    p = b.DeviceAt(512, kBytes, CopyStep::p);
    again = b.DeviceAt(768, kBytes, CopyStep::y);
    z = b.DeviceAt(0, kBytes, CopyStep::z);
    const auto next = [&b] { return static_cast<std::uint32_t>(b.Build().code.size()); };
    b.Alloc(kIn, in);
    upload = next();
    b.Copy(kIn, host_in, in);
    b.Wait(kCompute, b.Record(kIn));
    b.Alloc(kCompute, y);
    b.Alloc(kCompute, p);
    b.Kernel({Rd(in), Wr(y)}, CopyStep::f);
    b.Free(kCompute, in);
    const EventId computed = b.Record(kCompute);
    wait_out = next();
    b.Wait(kOut, computed);
    copy_out = next();
    b.Copy(kOut, y, host_y);
    b.Free(kOut, y);
    const EventId out = b.Record(kOut);
    if (sync) b.Sync(out);
    b.Wait(kIn, out);
    b.Alloc(kIn, again);
    b.Copy(kIn, host_y, again);
    const EventId back = b.Record(kIn);
    wait_in = next();
    b.Wait(kCompute, back);
    b.Alloc(kCompute, z);
    b.Kernel({Rd(again), Wr(z)}, CopyStep::g);
    b.Kernel({Rd(z), Up(p)}, CopyStep::u);
    for (const BufferId buffer : {again, z, p}) b.Free(kCompute, buffer);
    program = b.Build();
    program.launches = {LaunchOf(CopyStep::Build().ops[0])};
  }
};

// The input of iteration k counts from 100 k; p starts as zeros.
class Counting : public StepValues {
 public:
  void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override {
    Numbers numbers(bytes.size() / sizeof(float), 0);
    for (std::size_t i = 0; tensor == CopyStep::in && i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(100 * iteration) + static_cast<float>(i);
    }
    std::memcpy(bytes.data(), numbers.data(), numbers.size() * sizeof(float));
  }
  void Take(TensorId tensor, std::span<const std::byte> bytes) override {
    if (tensor != CopyStep::p) return;
    result.resize(bytes.size() / sizeof(float));
    std::memcpy(result.data(), bytes.data(), bytes.size());
  }
  Numbers result;
};
Numbers Input(int iteration) {
  Numbers numbers(kElements);
  for (std::size_t i = 0; i < kElements; ++i) numbers[i] = static_cast<float>(100 * iteration) + static_cast<float>(i);
  return numbers;
}

const SteadyClock kClock;

struct Case {
  Network network = CopyStep::Net();
  TrainingStep step = CopyStep::Build();
  ExecuteResult Run(const Program& program, ExecuteOptions options, CpuDeviceOptions cpu = {}) {
    CpuDevice device(network, std::move(cpu), kClock);
    options.values = &values;
    return Execute(program, &step, device, kClock, options);
  }
  Counting values;
};
std::string Says(const ExecuteResult& result) { return result.failure ? result.failure->message : ""; }

// ---- what it does ---------------------------------------------------------------------------------------------------

TEST_CASE("values go through kernels, out of memory and back") {
  Case c;
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
  Case c;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    REQUIRE(Says(c.Run(SwapProgram().program, {.iterations = 4, .debug = true, .shuffle_seed = seed})) == "");
    REQUIRE(c.values.result == Input(3));
  }
}

TEST_CASE("spans are those of the last step, of kernels and copies, behind what they wait for") {
  Case c;
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

TEST_CASE("the highest byte that changes is found, also when it is freed and filled again") {
  Case c;
  const ExecuteResult result = c.Run(SwapProgram().program, {.arena_bytes = 5000, .debug = true});
  REQUIRE(Says(result) == "");
  CHECK(result.high_water == 768 + kBytes);
  CHECK(c.Run(SwapProgram().program, {.arena_bytes = 5000}).high_water == 0);
}

TEST_CASE("freed memory is NaN, that of residents is not") {
  Case c;
  const SwapProgram s;
  CpuDevice device(c.network, {}, kClock);
  HandSession hand(s.program, &c.step, device);
  hand.session().debug = true;
  hand.Begin();
  const auto read = [&](BufferId buffer) {
    Numbers numbers(kElements);
    device.Read(LocationOf(s.program, buffer), std::as_writable_bytes(std::span(numbers)));
    return numbers;
  };
  const auto write = [&](BufferId buffer, const Numbers& numbers) {
    device.Write(LocationOf(s.program, buffer), std::as_bytes(std::span(numbers)));
  };
  write(s.host_in, Input(7));
  write(s.p, Input(0));
  for (int k = 0; k < 2; ++k) {
    device.BeginStep();
    CHECK(std::isnan(read(s.host_y)[3]));  // left by the last step, and of no resident
    hand.GiveAll();
    device.EndStep();
    CHECK(read(s.p) == Input(7));
    CHECK(read(s.host_y) == Input(7));
    for (const BufferId freed : {s.y, s.again, s.z}) {
      for (const float number : read(freed)) CHECK(std::isnan(number));
    }
  }
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
  Case c;
  CpuDevice device(c.network, {}, kClock);
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
  Case c;
  CpuDevice device(c.network, {}, kClock);
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

TEST_CASE("a device says how it is pinned, and may be ended at any time") {
  Case c;
  CpuDevice device(c.network, {}, kClock);
  device.End();
  const SwapProgram s;
  for (int k = 0; k < 3; ++k) {
    HandSession hand(s.program, &c.step, device);
    hand.Begin();
    CHECK(device.pinning() != "");
    if (k == 0) continue;  // ended before a step
    device.BeginStep();
    if (k == 1) {
      for (std::uint32_t i = 0; i < s.wait_in; ++i) hand.Give(i);  // ended in the middle of one
    } else {
      hand.GiveAll();
      device.EndStep();
    }
    device.End();
    device.End();
  }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST_CASE("a kernel that fails is named, and the device can be used again") {
  Case c;
  const SwapProgram s;
  int kernels = 0;
  CpuDevice device(c.network,
                   {.before =
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
  Case c;
  const SwapProgram s(true);
  CpuEvent gate, reached;
  const auto before = [&](Issue issue) {
    if (issue.stream != kCompute) return;
    reached.Fire();
    gate.Wait({});
  };
  CpuDevice device(c.network, {.patience = 30 * kMillisecond, .before = before}, kClock);
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
  Case c;
  const SwapProgram s;
  CpuDevice device(c.network, {}, kClock);
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
  Case c;
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
  Case c;
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
  Case c;
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
  Case c;
  CHECK_THROWS_AS(CpuDevice(c.network, {.link_rate = -1}, kClock), UserError);
  CHECK_THROWS_AS(CpuDevice(c.network, {.link_rate = NAN}, kClock), UserError);
  CHECK_THROWS_AS(CpuDevice(c.network, {.threads = 0}, kClock), UserError);
}

// ---- debug sessions -------------------------------------------------------------------------------------------------

// SwapProgram without one of its waits, each copy taking 50 ms and everything 5 ms before.
ExecuteResult Without(Case& c, std::uint32_t left_out) {
  Program program = SwapProgram().program;
  REQUIRE(program.code[left_out].opcode == Opcode::kWait);
  program.code.erase(program.code.begin() + left_out);
  return c.Run(program, {.iterations = 3, .debug = true}, {.link_rate = 2e-6, .before = [](Issue) {
                                                             timespec some{.tv_sec = 0, .tv_nsec = 5000000};
                                                             nanosleep(&some, nullptr);
                                                           }});
}

TEST_CASE("a copy before its data is computed reads nothing and is found out") {
  Case c;
  const ExecuteResult result = Without(c, SwapProgram().wait_out);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("y is read where it was never written or has been freed") != std::string::npos);
}

TEST_CASE("a kernel before its data is back reads nothing and is found out") {
  Case c;
  const ExecuteResult result = Without(c, SwapProgram().wait_in);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("kernel g") != std::string::npos);
}

TEST_CASE("addresses given out before they are free are found out") {
  Case c;
  const SwapProgram s;
  Program program = s.program;
  program.buffers[s.again].offset = 512;  // where p lives
  ExecuteResult result = c.Run(program, {.debug = true});
  CHECK(Says(result).find("buffer 5 gets addresses that are still in use: byte 611") != std::string::npos);
  Program over_z = s.program;
  over_z.buffers[s.z].offset = 700;  // over y's second place, into which it is copied meanwhile
  result = c.Run(over_z, {.debug = true});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(Says(result).find("buffer 6 gets addresses that are still in use: byte 799") != std::string::npos);
}

TEST_CASE("parameters that become NaN are found out at the end of the step") {
  class Nan : public Counting {
   public:
    void Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) override {
      Counting::Fill(iteration, tensor, bytes);
      const float number = NAN;
      if (tensor == CopyStep::in && iteration == 1) std::memcpy(bytes.data(), &number, sizeof(number));
    }
  } values;
  Case c;
  CpuDevice device(c.network, {}, kClock);
  const ExecuteResult result =
      Execute(SwapProgram().program, &c.step, device, kClock, {.iterations = 3, .debug = true, .values = &values});
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kContents);
  CHECK(result.failure->iteration == 1);
  INFO(Says(result));
  CHECK(Says(result).find("p holds NaN after the step") != std::string::npos);
}

TEST_CASE("canary: fills, finds the last change, finds itself") {
  for (const Bytes offset : {0, 1, 2, 3, 6}) {
    for (const std::size_t size : {0, 1, 2, 3, 4, 5, 9, 64, 103}) {
      std::vector<std::byte> memory(size + 8, std::byte{1});
      const std::span<std::byte> inside = std::span(memory).subspan(4, size);
      FillCanary(inside, offset);
      CHECK(LastChange(inside, offset) == 0);
      CHECK(memory[3] == std::byte{1});
      CHECK(memory[4 + size] == std::byte{1});
      const std::size_t lead = static_cast<std::size_t>((4 - offset % 4) % 4);
      CHECK(HoldsCanary(inside, offset) == (size >= lead + 4));
      for (std::size_t at = 0; at < size; ++at) {
        FillCanary(inside, offset);
        inside[at] ^= std::byte{1};
        REQUIRE(LastChange(inside, offset) == static_cast<Bytes>(at) + 1);
      }
    }
  }
  float number = 0;
  std::memcpy(&number, &kCanary, sizeof(number));
  CHECK(std::isnan(number));
  std::uint32_t bits = 0;
  number += 1;
  std::memcpy(&bits, &number, sizeof(bits));
  CHECK(bits != kCanary);  // whatever is computed from it is another NaN
}

}  // namespace
}  // namespace spillway
