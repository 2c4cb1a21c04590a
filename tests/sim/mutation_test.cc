// Verify against small changes: every unsafe one is refused, every pinned safe one passes; and on random Programs it
// agrees with a checker that looks at all pairs.
#include <catch2/catch.hpp>

#include "sim/verify/verify.h"
#include "tests/random_plan.h"
#include "tests/sim/judge_mutations.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// Two rounds of: compute, swap out, swap in to the same address, use; one buffer is used throughout. With barriers the
// host waits after each round, and the waits between rounds are left out.
Program TwoRounds(bool barriers, bool arena) {
  ProgramBuilder p;
  const BufferId all = p.Device(64);
  p.Alloc(kCompute, all);
  p.Kernel({Wr(all)});
  EventId used = 0;
  for (int round = 0; round < 2; ++round) {
    const BufferId x = p.DeviceAt(64, 100), y = p.DeviceAt(64, 100), h = p.Host(100);
    p.Alloc(kCompute, x);
    p.Kernel({Wr(x), Up(all)});
    p.Wait(kOut, p.Record(kCompute), Cause::kProduced);
    p.Copy(kOut, x, h);
    p.Free(kOut, x);
    const EventId out = p.Record(kOut);
    if (barriers) p.Sync(out);
    if (!barriers) p.Wait(kIn, out, Cause::kSwapOut);
    p.Alloc(kIn, y);
    p.Copy(kIn, h, y);
    p.Wait(kCompute, p.Record(kIn), Cause::kSwapIn);
    p.Kernel({Rd(y), Up(all)});
    p.Free(kCompute, y);
    if (barriers) p.Sync(used = p.Record(kCompute));
  }
  p.Free(kCompute, all);
  Program program = p.Build();
  program.memory = arena ? ProgramMemory::kArena : ProgramMemory::kPool;
  return program;
}

TEST_CASE("mutations of Programs without a step") {
  MutationTally tally;
  for (const bool barriers : {false, true}) {
    for (const bool arena : {false, true}) Judge(TwoRounds(barriers, arena), nullptr, tally);
  }
  UNSCOPED_INFO(tally.Text());
  CHECK(tally.Total() >= 200);
  CHECK(tally.accepted["drop"] >= 1);  // a barrier that nothing relies on: the last one
}

TEST_CASE("mutations of Programs that compute a step") {
  const TrainingStep step = SmallStep::Build();
  MutationTally tally;
  for (const Program& program : {RecomputeProgram(), RecomputeChainProgram(), SwapStepProgram()}) {
    CHECK(ImpliedWaits(program).empty());
    Judge(program, &step, tally);
  }
  UNSCOPED_INFO(tally.Text());
  CHECK(tally.Total() >= 300);
  for (const char* what :
       {"drop", "repeat", "free early", "alloc late", "swap with next", "other buffer", "read only", "move address"}) {
    INFO(what);
    CHECK(tally.rejected[what] >= 10);
  }
}

// A few buffers that share addresses, written, read, copied and freed on random streams; after each instruction an
// event that each stream waits for more often than not, the host now and then. Contents are always defined.
Program RandomProgram(std::uint64_t seed) {
  Random random(seed);
  ProgramBuilder p;
  const BufferId host = p.Host(10);
  const auto stream = [&] { return static_cast<StreamId>(random.Below(3)); };
  const auto synchronise = [&](StreamId from) {
    const EventId event = p.Record(from);
    if (random.Below(8) == 0) p.Sync(event);
    for (const StreamId to : {kCompute, kOut, kIn}) {
      if (to != from && random.Below(4) != 0) p.Wait(to, event);
    }
  };
  for (int k = 0; k < 3; ++k) {
    const BufferId b = p.DeviceAt(5 * random.Below(3), 10);
    const StreamId first = stream(), last = stream();
    p.Alloc(first, b);
    synchronise(first);
    p.Kernel({Wr(b)});
    synchronise(kCompute);
    if (random.Below(2) == 0) p.Copy(kOut, b, host);
    if (random.Below(2) == 0) synchronise(kOut);
    if (random.Below(2) == 0) p.Kernel({Rd(b)});
    synchronise(kCompute);
    p.Free(last, b);
    synchronise(last);
  }
  return p.Build();
}

// One to three fields somewhere in the tables get values that are small, large or negative.
Program Garble(Program program, Random& random) {
  const auto any = [&random](auto& list) -> auto& {
    return list[random.Below(static_cast<std::uint32_t>(list.size()))];
  };
  const auto value = [&random] {
    const std::uint32_t values[] = {0, 1, random.Below(20), 0x7fffffff, 0x80000000, 0xffffffff};
    return values[random.Below(6)];
  };
  for (std::uint32_t k = random.Below(3) + 1; k > 0; --k) {
    switch (random.Below(10)) {
      case 0:
        any(program.code).arg = value();
        break;
      case 1:
        any(program.code).stream = static_cast<StreamId>(value());
        break;
      case 2:
        any(program.code).opcode = static_cast<Opcode>(value() % 9);
        break;
      case 3:
        any(program.kernels).operands = value();
        break;
      case 4:
        any(program.kernels).operand_count = value();
        break;
      case 5:
        any(program.kernels).op = static_cast<OpId>(value());
        break;
      case 6:
        any(program.operands).buffer = value();
        break;
      case 7:
        any(program.copies).bytes = static_cast<std::int32_t>(value());
        break;
      case 8:
        any(program.buffers).tensor = static_cast<TensorId>(value());
        break;
      default:
        any(program.buffers).bytes = static_cast<std::int32_t>(value());
        break;
    }
  }
  return program;
}

TEST_CASE("Verify reads nothing out of range, whatever the Program says") {
  const TrainingStep step = SmallStep::Build();
  const Program safe = SwapStepProgram();
  Random random(1);
  int refused = 0;
  for (int k = 0; k < 5000; ++k) {
    const Program garbled = Garble(safe, random);
    refused += Verify(garbled, &step).empty() ? 0 : 1;
    Verify(garbled);
  }
  CHECK(refused >= 4000);  // a change may hit upon the value that was there
  CHECK(refused < 5000);
}

TEST_CASE("on random Programs Verify agrees with all pairs") {
  int safe = 0, unsafe = 0;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    const Program program = RandomProgram(seed);
    const bool holds = OrderHolds(program);
    ++(holds ? safe : unsafe);
    if (Verify(program).empty() == holds) continue;
    INFO(DumpProgram(program));
    FAIL_CHECK("seed " << seed << ": all pairs say " << (holds ? "safe" : "unsafe"));
  }
  // Both kinds must be frequent for the comparison to mean something.
  CHECK(safe >= 500);
  CHECK(unsafe >= 500);
}

}  // namespace
}  // namespace spillway
