// Programs whose ops stream operands: ordered by the samples that they touch, no more and no less; and every small change of
// one is judged rightly.
#include <catch2/catch.hpp>

#include "sim/program/lower/lower.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/judge_mutations.h"
#include "tests/sim/stream_all.h"
#include "tests/small_networks.h"

namespace spillway {

// What is ordered by boxes: nothing is waited for in vain, and no wait can be left out.
TEST_CASE("streamed Programs wait for what they must, tile by tile, and for nothing else") {
  Random random(17);
  std::size_t waits = 0;
  for (int k = 0; k < Cases(2, 12); ++k) {
    const PartsPlace p(k % 2 == 0 ? BoxedNetwork() : Vgg());
    Plan plan = RandomPlan(p.step, {}, 30, random);
    AddRandomTiledStreams(p.step, 60, {2, 3, 3}, random, plan);
    const Program program = p.Lowered(plan);
    REQUIRE(ViolationsOf(program, p.step) == "");
    CHECK(ImpliedWaits(program).empty());
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      if (program.code[i].opcode != Opcode::kWait) continue;
      Program without = program;
      without.code.erase(without.code.begin() + static_cast<std::ptrdiff_t>(i));
      INFO("plan " << k << ": without instruction " << i << "\n" << DumpProgram(program, &p.step));
      REQUIRE(ViolationsOf(without, p.step) != "");
      ++waits;
    }
  }
  INFO(waits << " waits");
  CHECK(waits > Cases<std::size_t>(80, 500));
}

TEST_CASE("tiles of an op that updates in place go out while others come in") {
  const PartsPlace p(Vgg());
  const OpId conv = p.Op("conv1_1:forward"), bias = p.Op("conv1_1:bias");
  Plan plan = p.Whole();
  plan.ops = {StreamAll(p, conv, Ones(8)), StreamAll(p, bias, Ones(8))};
  SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
  REQUIRE(Says(p, plan) == "");
  Program program = Lower(plan, p.tables, 0).program;
  PlaceBuffers(program, kGB);  // with room enough not to wait for memory
  REQUIRE(ViolationsOf(program, p.step) == "");
  // The bias of the first sample need not wait for the convolution of the last one.
  std::size_t first_bias = 0, last_conv_out = 0;
  std::vector<std::size_t> recorded(program.events, 0);
  std::size_t bias_waits_for = 0;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode == Opcode::kRecord) recorded[in.arg] = i;
    if (in.opcode == Opcode::kKernel && program.kernels[in.arg].op == bias && first_bias == 0) first_bias = i;
    if (first_bias == 0 && in.opcode == Opcode::kCopy && program.copies[in.arg].direction == Direction::kDeviceToHost) {
      last_conv_out = i;
    }
    const bool copies_in = in.opcode == Opcode::kWait && program.streams[in.stream].kind == StreamKind::kHostToDevice;
    if (copies_in && first_bias == 0 && recorded[in.arg] != 0) bias_waits_for = recorded[in.arg];
  }
  CHECK(first_bias > last_conv_out);
  CHECK(bias_waits_for < last_conv_out);
}

TEST_CASE("mutations of streamed Programs") {
  Random random(29);
  MutationTally tally;
  for (int k = 0; k < 4; ++k) {
    const PartsPlace p(BoxedNetwork());
    Plan plan = RandomPlan(p.step, {.copy_streams = 1 + k % 2}, 30, random);
    AddRandomTiledStreams(p.step, 50, {2, 2, 3}, random, plan);
    Judge(p.Lowered(plan), &p.step, tally);
  }
  INFO(tally.Text());
  CHECK(tally.Total() > 1000);
}

}  // namespace spillway
