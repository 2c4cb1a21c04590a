// The fake device: what it must object to, with the instruction named.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>

#include "sim/execute/fake/device.h"
#include "tests/sim/fake_run.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// Runs the Program with every kernel and copy taking 10 ns and expects the failure.
void CheckFails(const Program& program, Fault fault, std::uint32_t instruction, const char* message) {
  FakeOptions fake;
  fake.durations.assign(program.code.size(), 0);
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Opcode opcode = program.code[i].opcode;
    if (opcode == Opcode::kKernel || opcode == Opcode::kCopy) fake.durations[i] = 10;
  }
  FakeDevice device(fake);
  const ExecuteResult result = Execute(program, nullptr, device, device, {.debug = true});
  CHECK_FALSE(device.open());
  REQUIRE(result.failure.has_value());
  INFO(result.failure->message);
  CHECK(FaultName(result.failure->fault) == std::string(FaultName(fault)));
  CHECK(result.failure->instruction == instruction);
  CHECK_THAT(result.failure->message, Catch::Contains(message));
}

// ---- clause 2 -------------------------------------------------------------------------------------------------------

TEST_CASE("events are recorded once, and before anyone waits") {
  SECTION("a wait first") {
    ProgramBuilder p;
    p.Wait(kIn, 0);
    p.Record(kCompute);
    CheckFails(p.Build(), Fault::kContract, 0, "instruction 0 (h2d     wait   e0 (data)): event 0 is not recorded");
  }
  SECTION("the host first") {
    ProgramBuilder p;
    p.Sync(0);
    p.Record(kCompute);
    CheckFails(p.Build(), Fault::kContract, 0, "event 0 is not recorded before");
  }
  SECTION("twice") {
    ProgramBuilder p;
    p.Record(kCompute);
    Program program = p.Build();
    program.code.push_back(program.code[0]);
    CheckFails(program, Fault::kContract, 1, "event 0 is recorded a second time");
  }
  SECTION("never") {
    Program program = ProgramBuilder().Build();
    program.events = 1;
    CheckFails(program, Fault::kContract, kNoInstruction, "event 0 is never recorded");
  }
}

TEST_CASE("streams run what is meant for them") {
  SECTION("a kernel on a copy stream") {
    ProgramBuilder p;
    p.Kernel({}, kNoOp, kIn);
    CheckFails(p.Build(), Fault::kContract, 0, "a kernel on a copy stream");
  }
  SECTION("a copy in the wrong direction") {
    ProgramBuilder p;
    const BufferId x = p.Device(10), h = p.Host(10);
    p.Alloc(kIn, x);
    p.Copy(kIn, h, x);
    Program program = p.Build();
    program.copies[0].direction = Direction::kDeviceToHost;
    CheckFails(program, Fault::kContract, 1, "the stream does not copy in this direction");
  }
}

// ---- clauses 3 to 5 -------------------------------------------------------------------------------------------------

TEST_CASE("buffers live once, and are used while they do") {
  ProgramBuilder p;
  const BufferId x = p.Device(10);
  SECTION("used before the beginning") {
    p.Kernel({Wr(x)});
    CheckFails(p.Build(), Fault::kContract, 0, "uses buffer 0, which is not allocated yet");
  }
  SECTION("never allocated") { CheckFails(p.Build(), Fault::kContract, kNoInstruction, "buffer 0 is never allocated"); }
  p.Alloc(kCompute, x);
  SECTION("never freed") { CheckFails(p.Build(), Fault::kContract, kNoInstruction, "buffer 0 is never freed"); }
  SECTION("allocated twice") {
    p.Alloc(kCompute, x);
    CheckFails(p.Build(), Fault::kContract, 1, "buffer 0 exists already");
  }
  SECTION("on top of another") {
    p.Alloc(kCompute, p.DeviceAt(5, 10));
    CheckFails(p.Build(), Fault::kContract, 1, "buffer 1 is given addresses of buffer 0, which is live");
  }
  p.Free(kCompute, x);
  SECTION("used after the end") {
    p.Kernel({Wr(x)});
    CheckFails(p.Build(), Fault::kContract, 2, "uses buffer 0, which is freed");
  }
  SECTION("freed twice") {
    p.Free(kCompute, x);
    CheckFails(p.Build(), Fault::kContract, 2, "buffer 0 is not live");
  }
}

TEST_CASE("addresses outside the arena") {
  ProgramBuilder p;
  const BufferId x = p.Device(10);
  p.Alloc(kCompute, x);
  p.Free(kCompute, x);
  Program program = p.Build();
  program.buffers[x].offset = -1;
  CheckFails(program, Fault::kContract, 0, "buffer 0 at [-1, 9) lies outside the arena of 0 bytes");
}

// compute |1 W x| |5 ...|
// d2h             |4 copy x||6 free x|
TEST_CASE("nobody disturbs an instruction at work") {
  ProgramBuilder p;
  const BufferId x = p.Device(10), h = p.Host(10);
  p.Alloc(kCompute, x);              // 0
  p.Kernel({Wr(x)});                 // 1
  p.Wait(kOut, p.Record(kCompute));  // 2, 3
  p.Copy(kOut, x, h);                // 4
  SECTION("a kernel writes what is being copied") {
    p.Kernel({Wr(x)});
    p.Free(kCompute, x);
    CheckFails(p.Build(), Fault::kContract, 4, "reads buffer 0 while instruction 5 is at work on buffer 0");
  }
  SECTION("two readers are welcome; kFree is not before both are done") {
    p.Kernel({Rd(x)});
    p.Free(kOut, x);
    const Program program = p.Build();
    CHECK(Says(FakeRun(program, nullptr, {.durations = {0, 10, 0, 0, 10, 10, 0}})) == "");
    const ExecuteResult result = FakeRun(program, nullptr, {.durations = {0, 10, 0, 0, 10, 11, 0}});
    REQUIRE(result.failure.has_value());
    CHECK(result.failure->instruction == 6);
    CHECK_THAT(result.failure->message, Catch::Contains("frees buffer 0 while instruction 5 is at work on buffer 0"));
  }
  SECTION("a copy reads what is being written") {
    p.Free(kOut, x);
    Program program = p.Build();
    program.code.erase(program.code.begin() + 3);  // the wait
    CheckFails(program, Fault::kContract, 3, "reads buffer 0 while instruction 1 is at work on buffer 0");
  }
}

// ---- contents -------------------------------------------------------------------------------------------------------

TEST_CASE("contents: pieces, gaps and overwriting") {
  Contents a, b;
  a.Set(0, 10, 7);
  CHECK(a.Digest(0, 10) == DigestOf(10, 7));
  CHECK(a.Digest(2, 8) == DigestOf(6, 7));  // wherever it lies
  CHECK(a.Digest(0, 9) != a.Digest(0, 10));
  CHECK(a.Digest(10, 20) == kNothing);
  b.CopyFrom(a, 4, 104, 6);
  CHECK_FALSE(b.Complete(100, 110));
  b.CopyFrom(a, 0, 100, 4);
  CHECK(b.Complete(100, 110));
  CHECK(b.Digest(100, 110) == a.Digest(0, 10));  // in however many pieces it came
  b.Set(103, 105, 8);
  CHECK(b.Digest(100, 110) != a.Digest(0, 10));
  CHECK(b.Digest(105, 110) == DigestOf(5, 7));
  b.Set(103, 105, kNothing);
  CHECK_FALSE(b.Complete(100, 110));
  b.Set(103, 105, 7);
  CHECK(b.Digest(100, 110) == a.Digest(0, 10));
}

TEST_CASE("a kernel reads what nobody wrote") {
  ProgramBuilder p;
  const BufferId x = p.Device(10);
  p.Alloc(kCompute, x);
  p.Kernel({Rd(x)});
  CheckFails(p.Build(), Fault::kContents, 1, "buffer 0 holds nothing when it is read");
}

// compute |1 W x|          |5 W x|
// d2h            |4 copy x|
// h2d                             late or early: |8 copy back| brings the first version, unless 4 comes after 5
TEST_CASE("without a step, reads find what list order puts there") {
  ProgramBuilder p;
  const BufferId x = p.Device(10), y = p.Device(10), h = p.Host(10);
  p.Alloc(kCompute, x);              // 0
  p.Kernel({Wr(x)});                 // 1
  p.Wait(kOut, p.Record(kCompute));  // 2, 3
  p.Copy(kOut, x, h);                // 4
  p.Kernel({Wr(x)});                 // 5: does not wait for the copy
  p.Wait(kIn, p.Record(kOut));       // 6, 7
  p.Alloc(kIn, y);                   // 8
  p.Copy(kIn, h, y);                 // 9
  p.Free(kIn, y);                    // 10
  p.Wait(kIn, p.Record(kCompute));   // 11, 12
  p.Free(kIn, x);                    // 13
  const Program program = p.Build();
  CHECK(Says(FakeRun(program, nullptr, AtOnce())) == "");
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const ExecuteResult result = Shuffled(program, nullptr, seed);
    if (!result.failure) continue;
    ++failed;
    CHECK(result.failure->fault == Fault::kContents);
    CHECK(result.failure->instruction == 4);
  }
  CHECK(failed > 0);
  CHECK(failed < 20);
}

TEST_CASE("with a step, kernels find what in-core training computes") {
  const TrainingStep step = SmallStep::Build();
  CHECK(Says(FakeRun(RecomputeProgram(), &step)) == "");
  SECTION("a copy lacks a piece") {
    const ExecuteResult result = FakeRun(SwapStepProgram(1), &step);
    REQUIRE(result.failure.has_value());
    CHECK(FaultName(result.failure->fault) == std::string("contents"));
    CHECK_THAT(result.failure->message, Catch::Contains("kernel drop (again)"));
    CHECK_THAT(result.failure->message, Catch::Contains("does not hold what it should"));
  }
  SECTION("an op is left out of a recomputation") {
    const ExecuteResult result = FakeRun(RecomputeChainProgram(false), &step);
    REQUIRE(result.failure.has_value());
    CHECK_THAT(result.failure->message, Catch::Contains("kernel drop (again)"));
  }
  SECTION("the last op is missing") {
    Program program = RecomputeProgram();
    const auto last = std::find_if(program.code.rbegin(), program.code.rend(),
                                   [](const Instruction& in) { return in.opcode == Opcode::kKernel; });
    program.code.erase(std::next(last).base());
    CHECK_THAT(Says(FakeRun(program, &step)), Catch::Contains("update ran 0 times"));
  }
}

// ---- the calls themselves -------------------------------------------------------------------------------------------

TEST_CASE("calls are recorded in the order in which they came") {
  const TrainingStep step = SmallStep::Build();
  const Program program = SwapStepProgram();
  FakeDevice device;
  REQUIRE(Says(Execute(program, &step, device, device, {.debug = true})) == "");
  REQUIRE(device.calls().size() == program.code.size());
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    CHECK(device.calls()[i].opcode == program.code[i].opcode);
    CHECK(device.calls()[i].issue.instruction == i);
    CHECK(device.calls()[i].issue.stream == program.code[i].stream);
  }
}

TEST_CASE("a session by hand: values, clock, end") {
  ProgramBuilder p;
  const BufferId x = p.Device(16);
  p.Alloc(kCompute, x);
  p.Kernel({Wr(x)});
  p.Free(kCompute, x);
  const Program program = p.Build();
  FakeDevice device({.durations = {0, 25, 0}});
  device.End();  // without Begin
  const Session session{.program = &program, .arena_bytes = 16};
  device.Begin(session);
  CHECK(device.open());
  std::vector<std::byte> ones(16, std::byte{1}), twos(16, std::byte{2}), first(16), second(16);
  const Location at{.buffer = x, .bytes = 16};
  device.Write(at, ones);
  device.Read(at, first);
  device.Write(at, twos);
  device.Read(at, second);
  CHECK(first != second);
  device.Write(at, ones);
  device.Read(at, second);
  CHECK(first == second);
  for (int k = 1; k <= 2; ++k) {
    device.BeginStep();
    const std::vector<OperandCall> operands{{at, Access::kWrite}};
    device.Enqueue(KernelCall{.issue = {1, kCompute}, .kernel = &program.kernels[0], .operands = operands});
    CHECK(device.Now() == 25 * (k - 1));  // the host has not waited yet
    device.EndStep();
    CHECK(device.Now() == 25 * k);
  }
  CHECK(device.ReadSpans().empty());  // not an instrumented session
  device.End();
  device.End();
  CHECK_FALSE(device.open());
}

}  // namespace
}  // namespace spillway
