// Ops that run part by part together: what they are lowered to, what may be decided about them, and that verify, the bounds
// and the simulator agree about random ones.
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "sim/plan/check_op.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "tests/random_groups.h"
#include "tests/sim/judge_mutations.h"
#include "tests/sim/stream_all.h"
#include "tests/small_networks.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

std::vector<OpPart> Twos(std::size_t count) { return std::vector<OpPart>(count, OpPart{.samples = 2}); }

// Convolution, bias and ReLU of one layer, each in four parts, all that they may streamed; the latter two fused or not.
Plan OneLayer(const PartsPlace& p, const std::string& layer, bool fused, int depth = kTilesDeep) {
  Plan plan = p.Whole();
  for (const std::string& op : {layer + ":forward", layer + ":bias"}) {
    plan.ops.push_back(StreamAll(p, p.Op(op), Twos(4), depth));
    plan.ops.back().fused = fused && plan.ops.size() > 1;
  }
  const OpId relu = plan.ops.back().op + 1;
  plan.ops.push_back(StreamAll(p, relu, Twos(4), depth));
  plan.ops.back().fused = fused;
  SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
  return plan;
}

// Windows of 1x1 and one channel: on the unit machine kernels take hardly longer than copies.
Network Thin() {
  NetworkBuilder b("thin", {.n = 8, .c = 1, .h = 32, .w = 32});
  const LayerId first = b.ConvolutionRelu("first", kNetworkInput, Square(1, 1));
  const LayerId second = b.ConvolutionRelu("second", first, Square(1, 1));
  return b.Loss(b.Linear("fc", b.AveragePool("pool", second, Square(0, 2, 2)), 2));
}

// Bytes of tiles that come in and go out.
std::pair<Bytes, Bytes> Moved(const Program& program) {
  std::pair<Bytes, Bytes> moved;
  for (const Copy& copy : program.copies) {
    (copy.direction == Direction::kHostToDevice ? moved.first : moved.second) += copy.bytes;
  }
  return moved;
}

// The kernels of the plan's ops in list order: "0 1 2 0 1 2".
std::string Kernels(const Program& program, const Plan& plan) {
  std::string text;
  for (const Instruction& in : program.code) {
    if (in.opcode != Opcode::kKernel || program.kernels[in.arg].recomputation) continue;
    for (std::size_t k = 0; k < plan.ops.size(); ++k) {
      if (plan.ops[k].op == program.kernels[in.arg].op) text += (text.empty() ? "" : " ") + std::to_string(k);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("fused ops take turns, and what they share comes in once and goes out once") {
  const PartsPlace p(Vgg());
  const Plan apart = OneLayer(p, "conv1_2", false), fused = OneLayer(p, "conv1_2", true);
  REQUIRE(Says(p, apart) == "");
  REQUIRE(Says(p, fused) == "");
  const Program one = p.Lowered(apart), other = p.Lowered(fused);
  REQUIRE(ViolationsOf(one, p.step) == "");
  REQUIRE(ViolationsOf(other, p.step) == "");
  CHECK(Kernels(one, apart) == "0 0 0 0 1 1 1 1 2 2 2 2");
  CHECK(Kernels(other, fused) == "0 1 2 0 1 2 0 1 2 0 1 2");
  // What the convolution makes need not come back for the bias and for ReLU, nor go out for the first of them.
  const OpId conv = fused.ops[0].op, relu = fused.ops[2].op;
  const TensorId made = p.step.ops[Index(conv)].writes[0];
  const Bytes bytes = p.step.tensors[Index(made)].bytes;
  CHECK(Moved(one).first - Moved(other).first == 2 * bytes);
  const bool in_place = p.step.ops[Index(relu)].writes[0] == made;
  const bool used_later = p.tables.last_use[Index(made)] > relu;
  INFO(in_place << used_later);
  CHECK(Moved(one).second - Moved(other).second == (in_place || !used_later ? 2 : 1) * bytes);
}

TEST_CASE("fused ops take no longer, and hold no more than their tiles") {
  const PartsPlace p(Thin());
  for (const int depth : {1, 2, 3, 4}) {
    Nanos time[2];
    Bytes peak[2];
    for (const bool fused : {false, true}) {
      const Plan plan = OneLayer(p, "second", fused, depth);
      const Evaluation e = Evaluate(plan, {.step = &p.step, .costs = &p.costs, .capacity = kGB, .runtime = {}});
      REQUIRE(e.feasible);
      time[fused] = e.step_time;
      peak[fused] = Lower(plan, p.tables, 0).live_at[Index(plan.ops[1].op)];
    }
    INFO("depth " << depth);
    CHECK(time[1] <= time[0]);
    CHECK(peak[1] <= peak[0] + p.step.tensors[Index(p.step.ops[Index(p.Op("second:forward"))].reads[0])].bytes);
  }
}

TEST_CASE("what may be fused with what") {
  const PartsPlace p(Vgg());
  const Plan good = OneLayer(p, "conv1_2", true);
  const OpId bias = good.ops[1].op;
  Plan plan = good;
  plan.ops[1].parts = Ones(8);
  CHECK(Says(p, plan).find("op 'conv1_2:bias' is fused with 'conv1_2:forward': expected parts of the same samples") !=
        std::string::npos);
  plan = good;
  plan.ops[1].depth = 2;
  CHECK(Says(p, plan).find("expected the same depth, found 3 and 2") != std::string::npos);
  plan = good;
  plan.ops[0].fused = true;
  CHECK(Says(p, plan).find("is fused with '" + p.step.ops[Index(bias - 2)].name +
                           "': expected that one to stream something in the same parts, found nothing") !=
        std::string::npos);
  plan = good;
  plan.ops[2].tiles.rows = 2;
  CHECK(Says(p, plan).find("expected parts along the batch only, found tiles") != std::string::npos);
  plan = p.Whole();
  plan.ops.push_back({.op = bias, .fused = true});
  CHECK(Says(p, plan).find("expected something that it streams") != std::string::npos);
  // A file says so with the line.
  const std::string text = PlanToYaml(good, p.step);
  CHECK(ParsePlan(text, "plan.yaml", p.step) == good);
  std::string wrong = text;
  const std::size_t first = wrong.find(", fused: true");
  wrong.replace(wrong.rfind("samples: 2", first), 10, "samples: 1");
  CHECK(ErrorOf([&] { ParsePlan(wrong, "plan.yaml", p.step); }).find("plan.yaml:") != std::string::npos);
}

TEST_CASE("nothing is decided between fused ops") {
  const PartsPlace p(Vgg());
  const Plan good = OneLayer(p, "conv1_2", true);
  const OpId conv = good.ops[0].op, bias = good.ops[1].op;
  CHECK(FusedMistakes(good, p.step).empty());
  const auto says = [&p](const Plan& plan) {
    const std::vector<PlanMistake> mistakes = FusedMistakes(plan, p.step);
    return mistakes.size() == 1 ? mistakes[0].message : "";
  };
  Plan plan = good;
  plan.recompute.push_back({.before = bias, .run = p.Op("conv1_1:forward")});
  CHECK(says(plan) ==
        "nothing is computed again between 'conv1_2:forward' and 'conv1_2:bias', which are fused; expected an entry "
        "before 'conv1_2:forward'");
  const TensorId made = p.step.ops[Index(conv)].writes[0], read = p.step.ops[Index(conv)].reads[0];
  plan = good;
  plan.gaps.push_back({.tensor = made, .after = conv, .before = bias, .out_after = conv, .in_at = bias, .reason = ""});
  CHECK(says(plan) ==
        "tensor '" + p.step.tensors[Index(made)].name +
            "' stays between 'conv1_2:forward' and 'conv1_2:bias', which are fused: expected no decision");
  plan = good;
  plan.gaps.push_back(
      {.tensor = read, .after = conv - 1, .before = bias, .action = GapAction::kRecompute, .reason = ""});
  CHECK(says(plan) == "tensor '" + p.step.tensors[Index(read)].name +
                          "' cannot be computed again for 'conv1_2:bias', which is fused with 'conv1_2:forward': "
                          "expected a swap");
  plan = good;
  plan.gaps.push_back({.tensor = made,
                       .after = conv - 1,
                       .before = conv,
                       .action = GapAction::kRecompute,
                       .keep_result = false,
                       .reason = ""});
  CHECK(says(plan) == "tensor '" + p.step.tensors[Index(made)].name +
                          "' stays between 'conv1_2:forward' and 'conv1_2:bias', which are fused: expected no "
                          "keep_result: false");
}

// Swaps that end within a group, where it streams the tensor or where it does not, stay until just before. Returns how many.
int StayIntoGroups(Plan& plan, bool streamed) {
  int changed = 0;
  for (GapDecision& gap : plan.gaps) {
    const bool ends_within = std::any_of(plan.ops.begin(), plan.ops.end(), [&](const OpDecision& decision) {
      return decision.fused && decision.op == gap.before && Contains(decision.streamed, gap.tensor) == streamed;
    });
    if (!ends_within || gap.action != GapAction::kSwap || gap.after == kNoOp) continue;
    gap.leaves_after = gap.before - 1;
    gap.in_at = gap.before;
    ++changed;
  }
  return changed;
}

TEST_CASE("random groups of fused ops: verified, waiting for nothing in vain, never below their bounds") {
  Random random(41);
  int fused = 0, plans = 0, feasible = 0, refused = 0;
  std::size_t waits = 0;
  for (const SmallNetwork& network : kNetworks) {
    const PartsPlace p(network.build(), network.options);
    const Oracle oracle = OracleOf({.step = &p.step, .costs = &p.costs, .capacity = 10 * kGB, .runtime = {}});
    for (int k = 0; k < 30; ++k) {
      Runtime runtime{.copy_streams = 1 + k % 2};
      if (k % 5 == 0) runtime.memory = MemoryModel::kPool;
      if (k % 7 == 0) runtime.barrier = Barrier::kOp;
      if (k % 11 == 0) runtime.workspaces = Workspaces::kHeld;
      Plan plan = RandomPlan(p.step, runtime, k % 3 == 0 ? 90 : 10 * random.Below(4), random);
      AddRandomGroups(p.step, 20 + 40 * random.Below(2), random, plan);
      if (k % 3 == 0) StayIntoGroups(plan, false);
      Plan late = plan;
      const bool stays = StayIntoGroups(late, true) > 0;
      if (stays) CHECK(Says(p, late).find("expected it to go out and to leave before") != std::string::npos);
      refused += stays ? 1 : 0;
      if (k % 3 == 1) AddRandomEntries(p.step, random, plan);
      EraseMistaken(PlanMistake::Where::kRecomputation, p.step, plan, plan.recompute);  // of groups, told last
      INFO(network.name << " plan " << k << "\n" << PlanToYaml(plan, p.step));
      REQUIRE(Says(p, plan) == "");
      REQUIRE(ParsePlan(PlanToYaml(plan, p.step), "plan", p.step) == plan);
      const Program program = p.Lowered(plan);
      REQUIRE(ViolationsOf(program, p.step) == "");
      if (runtime.barrier == Barrier::kNone && program.memory == ProgramMemory::kArena)
        CHECK(ImpliedWaits(program).empty());
      for (const Instruction& in : program.code) waits += in.opcode == Opcode::kWait ? 1 : 0;
      fused += FusedOps(plan), ++plans;
      const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
      if (!e.feasible) continue;
      ++feasible;
      REQUIRE(e.widest.Best() <= e.bounds.Best());
      REQUIRE(e.bounds.Best() <= e.step_time);
    }
  }
  INFO(plans << " plans, " << fused << " fused ops, " << waits << " waits, " << feasible << " feasible");
  CHECK(fused > 1000);
  CHECK(feasible > plans / 2);
  CHECK(refused > 10);
}

TEST_CASE("mutations of Programs with fused ops") {
  Random random(43);
  MutationTally tally;
  for (int k = 0; k < 4; ++k) {
    const PartsPlace p(BoxedNetwork());
    Plan plan = RandomPlan(p.step, {.copy_streams = 1 + k % 2}, 20, random);
    AddRandomGroups(p.step, 60, random, plan);
    REQUIRE(FusedOps(plan) > 0);
    Judge(p.Lowered(plan), &p.step, tally);
  }
  INFO(tally.Text());
  CHECK(tally.Total() > 800);
}

// What only fused ops can get wrong, and what verify says of it.
TEST_CASE("a fused op that runs before what it reads is there, and parts that are left out") {
  const PartsPlace p(Vgg());
  const Plan plan = OneLayer(p, "conv1_2", true);
  const Program program = p.Lowered(plan);
  std::vector<std::size_t> kernels[3];
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    if (program.code[i].opcode != Opcode::kKernel) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      if (program.kernels[program.code[i].arg].op == plan.ops[k].op) kernels[k].push_back(i);
    }
  }
  REQUIRE(kernels[1].size() == 4);
  int refused = 0;
  for (std::size_t part = 0; part < 4; ++part) {
    for (std::size_t k = 0; k < 3; ++k) {
      // Two kernels of a part exchanged, or one of them twice in place of another.
      for (std::size_t other = 0; other < 3; ++other) {
        if (other == k) continue;
        Program changed = program;
        std::swap(changed.code[kernels[k][part]].arg, changed.code[kernels[other][part]].arg);
        CHECK(ViolationsOf(changed, p.step) != "");
        changed = program;
        changed.code[kernels[k][part]].arg = changed.code[kernels[other][part]].arg;
        CHECK(ViolationsOf(changed, p.step) != "");
        refused += 2;
      }
    }
  }
  CHECK(refused == 48);
}

}  // namespace spillway
