// Failures injected into the fake device: Execute() reports one error that names the instruction, and leaves nothing
// behind.
#include <catch2/catch.hpp>
#include <set>

#include "tests/sim/fake_run.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// In the order in which streams get there; for these Programs that is list order.
std::vector<std::uint32_t> InstructionsOf(const Program& program, Opcode opcode) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode == opcode) found.push_back(i);
  }
  return found;
}

ExecuteResult Inject(const Program& program, const TrainingStep& step, Injection::What what, std::size_t nth) {
  FakeOptions fake = AtOnce();
  fake.injections = {{what, static_cast<std::uint32_t>(nth)}};
  FakeDevice device(fake);
  const ExecuteResult result = Execute(program, &step, device, device, {.iterations = 2, .debug = true});
  CHECK_FALSE(device.open());  // nothing is left behind
  if (result.failure) CHECK(result.step_times.size() == (result.failure->iteration == 1 ? 1u : 0u));
  return result;
}

void CheckInjected(const ExecuteResult& result, Fault fault, std::uint32_t instruction) {
  REQUIRE(result.failure.has_value());
  INFO(result.failure->message);
  CHECK(FaultName(result.failure->fault) == std::string(FaultName(fault)));
  CHECK(result.failure->instruction == instruction);
}

TEST_CASE("what cannot be reserved or prepared is said at the beginning") {
  const TrainingStep step = SmallStep::Build();
  const Program program = SwapStepProgram();
  CheckInjected(Inject(program, step, Injection::What::kNoArena, 0), Fault::kNoMemory, kNoInstruction);
  CheckInjected(Inject(program, step, Injection::What::kNoHostMemory, 1), Fault::kNoMemory, kNoInstruction);
  const std::vector<std::uint32_t> kernels = InstructionsOf(program, Opcode::kKernel);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    CheckInjected(Inject(program, step, Injection::What::kKernelRefused, k), Fault::kRefused, kernels[k]);
  }
}

TEST_CASE("a kernel that fails is named, in whichever iteration") {
  const TrainingStep step = SmallStep::Build();
  const Program program = SwapStepProgram();
  const std::vector<std::uint32_t> kernels = InstructionsOf(program, Opcode::kKernel);
  for (std::size_t k = 0; k < 2 * kernels.size(); ++k) {
    const ExecuteResult result = Inject(program, step, Injection::What::kKernelFails, k);
    CheckInjected(result, Fault::kFailed, kernels[k % kernels.size()]);
    CHECK(result.failure->iteration == (k < kernels.size() ? 0 : 1));
  }
  CHECK(Says(Inject(program, step, Injection::What::kKernelFails, 2 * kernels.size())) == "");
}

// The upload of the input, three pieces out, three pieces in, the input again: every one of them is missed by whoever
// reads next.
TEST_CASE("a copy that is lost is noticed by the next reader") {
  const TrainingStep step = SmallStep::Build();
  const Program program = SwapStepProgram();
  const std::vector<std::uint32_t> copies = InstructionsOf(program, Opcode::kCopy);
  REQUIRE(copies.size() == 8);
  for (std::size_t k = 0; k < 2 * copies.size(); ++k) {
    const ExecuteResult result = Inject(program, step, Injection::What::kCopyLost, k);
    REQUIRE(result.failure.has_value());
    INFO(result.failure->message);
    CHECK(result.failure->fault == Fault::kContents);
    CHECK(result.failure->iteration == (k < copies.size() ? 0 : 1));
    REQUIRE(result.failure->instruction != kNoInstruction);
    CHECK(result.failure->instruction > copies[k % copies.size()]);
  }
}

TEST_CASE("an event that never fires does not hang the run") {
  const TrainingStep step = SmallStep::Build();
  const Program program = SwapStepProgram();
  const std::vector<std::uint32_t> records = InstructionsOf(program, Opcode::kRecord);
  const std::vector<std::uint32_t> waits = InstructionsOf(program, Opcode::kWait);
  REQUIRE(records.size() == waits.size());  // each event has one that waits for it
  std::set<std::uint32_t> named;
  for (std::size_t k = 0; k < records.size(); ++k) {
    const ExecuteResult result = Inject(program, step, Injection::What::kEventNeverFires, k);
    REQUIRE(result.failure.has_value());
    CHECK(result.failure->fault == Fault::kHung);
    named.insert(result.failure->instruction);
  }
  CHECK(named == std::set<std::uint32_t>(waits.begin(), waits.end()));
}

TEST_CASE("the host does not wait for ever either") {
  ProgramBuilder p;
  p.Kernel({});
  p.Sync(p.Record(kCompute));
  const Program program = p.Build();
  CHECK(Says(FakeRun(program, nullptr)) == "");
  FakeOptions fake;
  fake.injections = {{Injection::What::kEventNeverFires, 0}};
  const ExecuteResult result = FakeRun(program, nullptr, fake);
  REQUIRE(result.failure.has_value());
  CHECK(result.failure->fault == Fault::kHung);
  CHECK(result.failure->instruction == 2);
  CHECK(result.failure->message == "iteration 0: instruction 2 (compute sync   e0 (barrier)): event 0 never comes");
}

TEST_CASE("memory that changes by itself is noticed wherever anybody reads it") {
  const TrainingStep step = SmallStep::Build();
  const Program program = SwapStepProgram();
  const std::vector<std::uint32_t> kernels = InstructionsOf(program, Opcode::kKernel);
  int noticed = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const ExecuteResult result = Inject(program, step, Injection::What::kMemoryCorrupted, k);
    const bool read_later = step.ops[static_cast<std::size_t>(program.kernels[k].op)].name != "loss";  // only l is not
    CHECK(result.failure.has_value() == read_later);
    if (!result.failure) continue;
    CHECK(result.failure->fault == Fault::kContents);
    ++noticed;
  }
  CHECK(noticed == static_cast<int>(kernels.size()) - 1);
}

}  // namespace
}  // namespace spillway
