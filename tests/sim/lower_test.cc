// Lowering, compared with instruction lists written by hand. Every tensor is smaller than the allocator's unit, so
// every device buffer takes one unit, 512 bytes.
#include "sim/program/lower/lower.h"

#include "sim/plan/runtime.h"
#include "sim/planning/strategy.h"
#include "sim/verify/verify.h"
#include "tests/lower_case.h"
#include "tests/text.h"

namespace spillway {
namespace {

TEST_CASE("in-core: the input is uploaded, everything goes after its last use") {
  const LowerCase c(MakeChain());
  const Lowered lowered = c.Lowers(c.Of({}));
  CHECK(Text(c, lowered.program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: alloc b4:m3; f3 r=b3:m2 w=b4:m3
compute: alloc b5:g2; b3 r=b4:m3 w=b5:g2
compute: free b4:m3; alloc b6:g1; b2 r=b3:m2 r=b5:g2 w=b6:g1
compute: free b3:m2; free b5:g2; b1 r=b1:data r=b2:m1 r=b6:g1
compute: free b1:data; free b2:m1; free b6:g1
)");
  CHECK(lowered.list_peak == 5 * 512);  // b3: the input, three maps, one gradient
  CHECK(lowered.op == c.Op("b3:backward"));
}

// m1 swapped out after f2 and issued to come back before b2, up to where b1 needs it.
const std::string kUpToB1 = R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
d2h: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; record e3; wait e2 (produced); free b2:m1
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3
h2d: alloc b7:m1; wait e3 (swap-out); copy b4:m1:host -> b7:m1 10 B; record e4
compute: alloc b8:g1; b2 r=b3:m2 r=b6:g2 w=b8:g1
compute: free b3:m2; free b6:g2)";

TEST_CASE("a swap in our own runtime: out behind the writer, freed behind the last reader, in before in_at") {
  const LowerCase c(MakeChain());
  CHECK(Text(c, c.Lowers(c.Of({c.Swap("m1", "f2:forward", "b1:backward", "b2:backward")})).program) ==
        kUpToB1 + R"(; wait e4 (swap-in); b1 r=b1:data r=b7:m1 r=b8:g1
compute: free b1:data; free b7:m1; free b8:g1
)");
}

TEST_CASE("a swap between two forward ops") {
  const LowerCase c(MakeChain({.layers = 2}));
  CHECK(Text(c, c.Lowers(c.Of({c.Swap("m1", "f1:forward", "f2:forward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1
d2h: wait e1 (produced); copy b2:m1 -> b3:m1:host 10 B; record e2; free b2:m1
h2d: alloc b4:m1; wait e2 (swap-out); copy b3:m1:host -> b4:m1 10 B; record e3
compute: alloc b5:m2; wait e3 (swap-in); f2 r=b4:m1 w=b5:m2
compute: alloc b6:g1; b2 r=b5:m2 w=b6:g1
compute: free b5:m2; b1 r=b1:data r=b4:m1 r=b6:g1
compute: free b1:data; free b4:m1; free b6:g1
)");
}

TEST_CASE("a copy out may start before the gap; the memory stays until the gap") {
  const LowerCase c(MakeChain());
  GapDecision gap = c.Swap("m2", "f3:forward", "b2:backward");
  gap.out_after = c.Op("f2:forward");
  CHECK(Text(c, c.Lowers(c.Of({gap})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e1
d2h: wait e1 (produced); copy b3:m2 -> b4:m2:host 10 B; record e2
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
compute: record e3
d2h: wait e3 (produced); free b3:m2
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3
h2d: alloc b7:m2; wait e2 (swap-out); copy b4:m2:host -> b7:m2 10 B; record e4
compute: alloc b8:g1; wait e4 (swap-in); b2 r=b7:m2 r=b6:g2 w=b8:g1
compute: free b7:m2; free b6:g2; b1 r=b1:data r=b2:m1 r=b8:g1
compute: free b1:data; free b2:m1; free b8:g1
)");
}

TEST_CASE("what stays in its gap is copied out where it is said, and its memory goes where it leaves") {
  const LowerCase c(MakeChain());
  GapDecision gap = c.Swap("m1", "f2:forward", "b1:backward");
  gap.leaves_after = c.Op("b3:backward");
  const std::string begins = R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
)";
  const std::string ends =
      R"(compute: free b5:m3; wait e2 (swap-out); free b2:m1; alloc b7:g1; b2 r=b3:m2 r=b6:g2 w=b7:g1
compute: free b3:m2; free b6:g2
h2d: alloc b8:m1; wait e2 (swap-out); copy b4:m1:host -> b8:m1 10 B; record e3
compute: wait e3 (swap-in); b1 r=b1:data r=b8:m1 r=b7:g1
compute: free b1:data; free b8:m1; free b7:g1
)";
  CHECK(Text(c, c.Lowers(c.Of({gap})).program) ==
        begins + R"(d2h: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; record e2
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
)" + ends);
  gap.out_after = c.Op("f3:forward");
  CHECK(Text(c, c.Lowers(c.Of({gap})).program) == begins + R"(compute: alloc b4:m3; f3 r=b3:m2 w=b4:m3
d2h: wait e1 (produced); copy b2:m1 -> b5:m1:host 10 B; record e2
compute: alloc b6:g2; b3 r=b4:m3 w=b6:g2
)" + Replaced(Replaced(ends, "b5:m3", "b4:m3"), "b4:m1:host", "b5:m1:host"));
}

TEST_CASE("a swap in PoocH's runtime: one copy stream, syncs after forward and around each backward layer") {
  const LowerCase c(MakeChain());
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward", "b2:backward")}, RuntimeByName("pooch"));
  const Program program = c.Lowers(plan).program;
  CHECK(program.memory == ProgramMemory::kPool);
  // The swap-in waits neither for its swap-out, which e3 implies, nor for memory given back, which e4 does.
  CHECK(Text(c, program) == R"(
copy: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
copy: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; wait e2 (produced); free b2:m1; record e3
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
copy: sync e3 (swap-out)
compute: alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3; record e4; sync e4 (barrier)
copy: alloc b7:m1; copy b4:m1:host -> b7:m1 10 B; record e5
compute: alloc b8:g1; b2 r=b3:m2 r=b6:g2 w=b8:g1
compute: free b3:m2; free b6:g2; record e6; sync e6 (barrier)
copy: sync e5 (swap-in)
compute: b1 r=b1:data r=b7:m1 r=b8:g1
compute: free b1:data; free b7:m1; free b8:g1; record e7; sync e7 (barrier)
)");
}

TEST_CASE("the host may wait for swap-ins before it issues the backward of a layer") {
  const LowerCase c(MakeChain());
  const Runtime waits{.swap_in_waits = SwapInWaits::kBackwardLayer};
  const Plan early = c.Of({c.Swap("m1", "f2:forward", "b1:backward", "b2:backward")}, waits);
  // b2 comes between: it does not wait, and the kernel of b1 no longer has to.
  CHECK(Text(c, c.Lowers(early).program) == kUpToB1 + R"(
h2d: sync e4 (swap-in)
compute: b1 r=b1:data r=b7:m1 r=b8:g1
compute: free b1:data; free b7:m1; free b8:g1
)");
  // What is recomputed from a swapped map waits for it first.
  const Plan again =
      c.Of({c.Swap("m1", "f2:forward", "b1:backward"), c.Recompute("m2", "f3:forward", "b2:backward")}, waits);
  CHECK(Text(c, c.Lowers(again).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
d2h: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; record e3; wait e2 (produced); free b2:m1
compute: alloc b5:m3; f3 r=b3:m2 w=b5:m3
compute: free b3:m2; alloc b6:g2; b3 r=b5:m3 w=b6:g2
compute: free b5:m3
h2d: alloc b7:m1; wait e3 (swap-out); copy b4:m1:host -> b7:m1 10 B; record e4; sync e4 (swap-in)
compute: alloc b8:m2; f2 (again) r=b7:m1 w=b8:m2
compute: alloc b9:g1; b2 r=b8:m2 r=b6:g2 w=b9:g1
compute: free b8:m2; free b6:g2; b1 r=b1:data r=b7:m1 r=b9:g1
compute: free b1:data; free b7:m1; free b9:g1
)");
}

TEST_CASE("in a pool without syncs a swap-in follows what the compute stream gave back before") {
  const LowerCase c(MakeChain({.layers = 2}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, {.memory = MemoryModel::kPool});
  Program program = c.Lowers(plan).program;
  CHECK(Text(c, program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
d2h: wait e1 (produced); copy b2:m1 -> b4:m1:host 10 B; record e3; wait e2 (produced); free b2:m1
compute: alloc b5:g1; b2 r=b3:m2 w=b5:g1
compute: free b3:m2; record e4
h2d: wait e4 (memory); alloc b6:m1; wait e3 (swap-out); copy b4:m1:host -> b6:m1 10 B; record e5
compute: wait e5 (swap-in); b1 r=b1:data r=b6:m1 r=b5:g1
compute: free b1:data; free b6:m1; free b5:g1
)");
  CHECK(Verify(program, &c.step).empty());
  // Without that wait the copy could overwrite m2 while b2 reads it: the pool may give m1 the place of m2.
  std::erase_if(program.code, [](const Instruction& in) { return in.cause == Cause::kMemory; });
  const std::vector<Violation> violations = Verify(program, &c.step);
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].message.substr(0, 8) == "clause 6");
}

TEST_CASE(
    "counted memory: the compute stream allocates and frees, and waits for a copy out only when bytes are wanted") {
  const LowerCase c(MakeChain({.layers = 2}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, {.memory = MemoryModel::kCounted});
  const StepTables tables(c.step, c.costs);
  // Live are data, m2 and g1 when b2 runs: its result wants the block of m1.
  const Lowered three = Lower(plan, tables, 0, 3 * kAllocationUnit);
  CHECK(Text(c, three.program) == R"(
compute: alloc b1:data; record e0
h2d: wait e0 (memory); copy b0:data:host -> b1:data 10 B; record e1
compute: alloc b2:m1; wait e1 (swap-in); f1 r=b1:data w=b2:m1
compute: record e2; alloc b3:m2; f2 r=b2:m1 w=b3:m2
d2h: wait e2 (produced); copy b2:m1 -> b4:m1:host 10 B; record e3
compute: wait e3 (swap-out); free b2:m1; alloc b5:g1; b2 r=b3:m2 w=b5:g1
compute: free b3:m2; alloc b6:m1; record e4
h2d: wait e4 (memory); copy b4:m1:host -> b6:m1 10 B; record e5
compute: wait e5 (swap-in); b1 r=b1:data r=b6:m1 r=b5:g1
compute: free b1:data; free b6:m1; free b5:g1
)");
  CHECK(three.counted_peak == 3 * kAllocationUnit);
  CHECK(Verify(three.program, &c.step, three.counted_peak).empty());
  const std::vector<Violation> violations = Verify(three.program, &c.step, three.counted_peak - 1);
  REQUIRE(violations.size() == 3);
  CHECK(violations[1].message ==
        "clause 5b, instruction 16 (kAlloc), buffer 5 of g1: 1536 bytes would be out, of 1535");
  // With one block more nobody wants it before the end.
  const Lowered four = Lower(plan, tables, 0, 4 * kAllocationUnit);
  CHECK(four.counted_peak == 4 * kAllocationUnit);
  CHECK(four.list_peak == three.list_peak);
  CHECK(Text(c, four.program).ends_with("compute: free b1:data; free b6:m1; free b5:g1; free b2:m1\n"));
  CHECK(DumpProgram(four.program) == DumpProgram(Lower(plan, tables, 0).program));
}

TEST_CASE("vDNN's barriers: after every layer the host waits for the kernel and for the copies") {
  const LowerCase c(MakeChain({.layers = 2}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, {.copy_streams = 1, .barrier = Barrier::kOp});
  CHECK(Text(c, c.Lowers(plan).program) == R"(
copy: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: record e1; sync e1 (barrier)
copy: sync e0 (swap-in)
compute: alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: record e2
copy: copy b2:m1 -> b4:m1:host 10 B; wait e2 (produced); free b2:m1; record e3
compute: sync e2 (barrier)
copy: sync e3 (swap-out)
compute: alloc b5:g1; b2 r=b3:m2 w=b5:g1
compute: free b3:m2; record e4; sync e4 (barrier)
copy: sync e3 (swap-out); alloc b6:m1; copy b4:m1:host -> b6:m1 10 B; record e5
compute: wait e5 (swap-in); b1 r=b1:data r=b6:m1 r=b5:g1
compute: free b1:data; free b6:m1; free b5:g1; record e6; sync e6 (barrier)
copy: sync e5 (swap-in)
)");
}

TEST_CASE("the input goes without a copy and is uploaded again") {
  const LowerCase c(MakeChain({.layers = 2}));
  CHECK(Text(c, c.Lowers(c.Of({c.Swap("data", "f1:forward", "b1:backward")})).program) == R"(
h2d: alloc b1:data; copy b0:data:host -> b1:data 10 B; record e0
compute: alloc b2:m1; wait e0 (swap-in); f1 r=b1:data w=b2:m1
compute: free b1:data; alloc b3:m2; f2 r=b2:m1 w=b3:m2
compute: alloc b4:g1; b2 r=b3:m2 w=b4:g1
compute: free b3:m2
h2d: alloc b5:data; copy b0:data:host -> b5:data 10 B; record e1
compute: wait e1 (swap-in); b1 r=b5:data r=b2:m1 r=b4:g1
compute: free b5:data; free b2:m1; free b4:g1
)");
}

TEST_CASE("copies in pieces of 4 bytes: 4 + 4 + 2") {
  const LowerCase c(MakeChain({.layers = 2}));
  Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")});
  plan.runtime.copy_chunk = 4;  // users may not ask for so little
  const Program program = c.Lowers(plan).program;
  std::vector<std::pair<Bytes, Bytes>> pieces;  // offset, bytes
  for (const Copy& copy : program.copies) pieces.emplace_back(copy.offset, copy.bytes);
  const std::vector<std::pair<Bytes, Bytes>> tensor{{0, 4}, {4, 4}, {8, 2}};
  REQUIRE(pieces.size() == 9);  // the upload, out, in
  for (std::size_t k = 0; k < 9; ++k) CHECK(pieces[k] == tensor[k % 3]);
  const std::string text = Text(c, program);
  CHECK(text.find("b2:m1 -> b4:m1:host 4 B; copy b2:m1 -> b4:m1:host 4 B from byte 4; "
                  "copy b2:m1 -> b4:m1:host 2 B from byte 8; record") != std::string::npos);
}

TEST_CASE("tables of a step: rounded bytes, distinct launches, working sets") {
  HandStep b;
  const TensorId w = b.Tensor("w", TensorClass::kParameter, 513);     // 2 units, always there
  const TensorId x = b.Tensor("data", TensorClass::kInput, 512);      // 1
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 1);      // 1
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 3 * 512);  // 3
  b.Op("f1", Pass::kForward, 4, {x, w}, {m});
  b.Op("f2", Pass::kForward, 4, {m}, {m});
  b.Op("b1", Pass::kBackward, 4, {m}, {g});
  Machine machine = HandMachine();
  CostLaw law;
  law.op = OpKind::kLinear;
  law.pass = Pass::kBackward;
  law.flop_fraction = 1;
  law.workspace = 512;
  machine.devices[0].laws.push_back(law);
  const LowerCase c(b.Take(), machine);
  const StepTables tables(c.step, c.costs);
  CHECK(tables.bytes == std::vector<Bytes>{1024, 512, 512, 1536});
  CHECK(tables.persistent == std::vector<bool>{true, false, false, false});
  CHECK(tables.last_use == std::vector<OpId>{0, 0, 2, 2});
  CHECK(tables.launches.size() == 2);  // f1 and f2 are the same call
  CHECK(tables.launch == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(tables.WorkingSet(0) == 4 * 512);  // w, data, m
  CHECK(tables.WorkingSet(1) == 3 * 512);  // w, m once though read and written
  CHECK(tables.WorkingSet(2) == 7 * 512);  // w, m, g, workspace
  CHECK(tables.LargestWorkingSet() == 2);
}

TEST_CASE("parameters are there from first to last; a workspace lives for its kernel; a plan may grant more of it") {
  HandStep b;
  const TensorId w = b.Tensor("w", TensorClass::kParameter, 10);
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 10);
  b.Op("f", Pass::kForward, 4, {w}, {m});
  b.Op("u", Pass::kUpdate, 4, {m, w}, {w});
  const LowerCase c(b.Take());
  Plan plan = c.Of({});
  CHECK(Text(c, c.Lowers(plan).program) == R"(
compute: alloc b0:w; alloc b1:m; f r=b0:w w=b1:m
compute: u r=b1:m rw=b0:w
compute: free b1:m; free b0:w
)");
  plan.ops.push_back({.op = 0, .algorithm = 2, .workspace = 100});
  const Lowered lowered = c.Lowers(plan);
  CHECK(Text(c, lowered.program) == R"(
compute: alloc b0:w; alloc b1:m; alloc b2:workspace; f r=b0:w w=b1:m w=b2:workspace
compute: free b2:workspace; u r=b1:m rw=b0:w
compute: free b1:m; free b0:w
)");
  CHECK(lowered.list_peak == 3 * 512);
  const Launch& launch = lowered.program.launches[lowered.program.kernels[0].launch];
  CHECK(launch.algorithm == 2);
  CHECK(launch.workspace == 100);
}

}  // namespace
}  // namespace spillway
