// Where lowering issues swap-ins: as early as the plan asks and, in an arena, memory allows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/plan/runtime.h"
#include "sim/planning/strategy.h"
#include "tests/lower_case.h"

namespace spillway {
namespace {

// What runs right after the swap-in of `tensor` was issued.
std::string IssuedBefore(const LowerCase& c, const Program& program, const char* tensor) {
  bool issued = false;
  std::string op = "never";
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kKernel && issued)
      return c.step.ops[static_cast<std::size_t>(program.kernels[in.arg].op)].name;
    if (in.opcode != Opcode::kCopy || program.copies[in.arg].direction != Direction::kHostToDevice) continue;
    issued = issued || program.buffers[program.copies[in.arg].to].tensor == c.Tensor(tensor);
  }
  return op;
}

TEST_CASE("the first upload may be issued before the op that needs it") {
  HandStep b;
  const TensorId x = b.Tensor("data", TensorClass::kInput, 10);
  const TensorId m = b.Tensor("m", TensorClass::kTransient, 10);
  b.Op("f1", Pass::kForward, 4, {}, {m});
  b.Op("f2", Pass::kForward, 4, {m, x}, {});
  const LowerCase c(b.Take());
  GapDecision gap;
  gap.tensor = x;
  gap.before = 1;
  gap.in_at = 0;
  CHECK(IssuedBefore(c, c.Lowers(c.Of({})).program, "data") == "f2");
  CHECK(IssuedBefore(c, c.Lowers(c.Of({gap})).program, "data") == "f1");
}

// Units live while each op runs, with m1 swapped out after f2 and back when b1 needs it:
//   f1 2   f2 3   f3 3   f4 4   b4 5   b3 5   b2 4   b1 3
TEST_CASE("an arena's swap-in comes as early as the plan asks and memory allows") {
  const LowerCase c(MakeChain({.layers = 4}));
  const auto issued = [&c](const char* in_at, Bytes units) {
    const Lowered lowered = c.Lowers(c.Of({c.Swap("m1", "f2:forward", "b1:backward", in_at)}), units * 512);
    CHECK(lowered.list_peak == std::max<Bytes>(units, 5) * 512);
    return IssuedBefore(c, lowered.program, "m1");
  };
  CHECK(issued("f3:forward", 4) == "b1:backward");  // less than the plan needs: no prefetch
  CHECK(issued("f3:forward", 5) == "b2:backward");
  CHECK(issued("f3:forward", 6) == "f3:forward");
  CHECK(issued("b4:backward", 6) == "b4:backward");
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward", "f3:forward")});
  CHECK(IssuedBefore(c, c.Lowers(plan).program, "m1") == "f3:forward");  // no limit
}

TEST_CASE("an arena's swap-ins come in order of need and share the room") {
  // With m2 out from f3 to b2 and m1 from f2 to b1: f3 3, f4 3, b4 4, b3 4, b2 4, b1 3. Within 5, m2 comes back before
  // f4 (b4 and b3 are full then), and m1 cannot overtake: b2 has room for it, b3 has none.
  const LowerCase c(MakeChain({.layers = 4}));
  const GapDecision m1 = c.Swap("m1", "f2:forward", "b1:backward", "f3:forward");
  const GapDecision m2 = c.Swap("m2", "f3:forward", "b2:backward", "f4:forward");
  for (const Plan& plan : {c.Of({m1, m2}), c.Of({m2, m1})}) {
    const Program program = c.Lowers(plan, 5 * 512).program;
    CHECK(IssuedBefore(c, program, "m2") == "f4:forward");
    CHECK(IssuedBefore(c, program, "m1") == "b2:backward");
  }
}

TEST_CASE("a pool's swap-ins come where the plan says, in its order") {
  const LowerCase c(MakeChain());
  const GapDecision m1 = c.Swap("m1", "f2:forward", "b1:backward", "b2:backward");
  const GapDecision m2 = c.Swap("m2", "f3:forward", "b2:backward", "b2:backward");
  const std::string m1_first = Text(c, c.Lowers(c.Of({m1, m2}, RuntimeByName("pooch")), 512).program);
  CHECK(m1_first.find("copy: alloc b8:m1; copy b4:m1:host -> b8:m1 10 B; record e6; alloc b9:m2; copy b6:m2:host -> "
                      "b9:m2 10 B; record e7; sync e7 (swap-in)\ncompute: alloc b10:g1; b2 ") != std::string::npos);
  const std::string m2_first = Text(c, c.Lowers(c.Of({m2, m1}, RuntimeByName("pooch")), 512).program);
  CHECK(m2_first.find("copy: alloc b8:m2; copy b6:m2:host -> b8:m2 10 B; record e6; alloc b9:m1; copy b4:m1:host -> "
                      "b9:m1 10 B; record e7; sync e6 (swap-in)\ncompute: alloc b10:g1; b2 ") != std::string::npos);
}

}  // namespace
}  // namespace spillway
