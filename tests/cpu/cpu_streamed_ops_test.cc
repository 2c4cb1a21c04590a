// Plans whose ops stream operands, carried out: random ops of random networks in random tiles train as in core.
//
// Where the library runs every part by the implementation of the whole, and no sums over samples are divided, what a step
// leaves behind is the same bits; sums over parts are rounded in another order.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "sim/strategies/best/search_space.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_groups.h"
#include "tests/random_plan.h"
#include "tests/random_streams.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

struct Tally {
  std::size_t ops = 0, tiles = 0, unlike = 0, same = 0;
  int fused = 0;
};

// Each part of a convolution by the implementation of the whole, in the workspace that it wants; by the first one there is
// where the library has no such one.
void ChooseAlgorithms(const CpuCase& c, Plan& plan, Tally& tally) {
  CpuKernels kernels;
  for (OpDecision& decision : plan.ops) {
    const Op& op = c.step.ops[Index(decision.op)];
    if (!HasAlgorithms(op.kind)) continue;
    OpCall whole = CallOf(op);
    whole.launch.workspace = c.costs.Kernel(whole.launch).workspace;
    const std::string& of_whole = kernels.Prepare(whole).implementation();
    for (std::size_t k = 0; k < decision.parts.size(); ++k) {
      OpCall call = CallOf(op);
      call.launch = PartOf(call.launch, decision.parts[k].samples, k == 0);
      const std::vector<CpuAlgorithm> all = kernels.Algorithms(call);
      auto chosen =
          std::find_if(all.begin(), all.end(), [&](const CpuAlgorithm& one) { return one.implementation == of_whole; });
      if (chosen == all.end()) chosen = all.begin(), ++tally.unlike;
      decision.parts[k].algorithm = chosen->algorithm;
      decision.parts[k].workspace = chosen->workspace;
    }
  }
}

// `sums`: also those whose parts add up, and matrix products, which the library divides by their sizes.
// `fused`: in groups that run part by part together.
Program Draw(const CpuCase& c, std::uint32_t percent, bool sums, bool fused, Random& random, Tally& tally) {
  Plan plan = RandomPlan(c.step, {}, 20 * random.Below(4), random);
  const auto may = [sums](const Op& op) { return sums || (!AddsUpSamples(op) && op.kind != OpKind::kLinear); };
  if (fused) {
    AddRandomGroups(c.step, percent, random, plan, may);
  } else {
    AddRandomStreams(c.step, percent, random, plan, may);
  }
  ChooseAlgorithms(c, plan, tally);
  const Program program = ProvenProgram(c, plan);
  tally.ops += plan.ops.size();
  tally.fused += FusedOps(plan);
  for (const Buffer& buffer : program.buffers) tally.tiles += buffer.box != kWhole ? 1 : 0;
  return program;
}

}  // namespace

TEST_CASE("networks whose ops stream random operands in random tiles train as in core") {
  Random random(31);
  Tally tally;
  for (const SmallNetwork& network : kNetworks) {
    const CpuCase c(network.build(), StepOptionsByName(network.options));
    INFO(network.name);
    const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
    for (int k = 0; k < Cases(8, 25); ++k) {
      const std::size_t unlike = tally.unlike;
      const bool sums = k % 2 == 0;
      const Program program = Draw(c, 25 + 25 * random.Below(4), sums, false, random, tally);
      INFO("plan " << k);
      const Trained streamed = Train(c, program, {.iterations = 1, .debug = k % 5 == 0});
      CheckClose(expected, streamed, 1e-4);
      if (sums || tally.unlike > unlike) continue;
      CHECK(Difference(expected, streamed) == "");
      ++tally.same;
    }
  }
  INFO(tally.ops << " streamed ops, " << tally.tiles << " tiles, " << tally.unlike << " by another implementation");
  CHECK(tally.same > Cases(5u, 20u));  // bit for bit
  CHECK(tally.ops > Cases(500u, 2000u));
  CHECK(tally.tiles > Cases(2000u, 8000u));
}

TEST_CASE("networks whose fused ops run part by part together train as in core") {
  Random random(37);
  Tally tally;
  for (const SmallNetwork& network : kNetworks) {
    const CpuCase c(network.build(), StepOptionsByName(network.options));
    INFO(network.name);
    const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
    for (int k = 0; k < Cases(7, 20); ++k) {
      const std::size_t unlike = tally.unlike;
      const bool sums = k % 2 == 0;
      const Program program = Draw(c, 30 + 30 * random.Below(3), sums, true, random, tally);
      INFO("plan " << k);
      const Trained fused = Train(c, program, {.iterations = 1, .debug = k % 5 == 0});
      CheckClose(expected, fused, 1e-4);
      if (sums || tally.unlike > unlike) continue;
      CHECK(Difference(expected, fused) == "");
      ++tally.same;
    }
  }
  INFO(tally.fused << " fused of " << tally.ops << " streamed ops, " << tally.tiles << " tiles, " << tally.same
                   << " plans bit for bit");
  CHECK(tally.same > Cases(2u, 10u));
  CHECK(tally.fused > Cases(200, 800));
}

// All gaps at random, so that what is made again for a group is made before its first op.
TEST_CASE("groups as best finds them, with what else it decides, train as in core") {
  Random random(43);
  Tally tally;
  std::size_t brought = 0, again = 0;
  for (const SmallNetwork& network : kNetworks) {
    const CpuCase c(network.build(), StepOptionsByName(network.options));
    INFO(network.name);
    const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
    const StepFacts facts(c.step, c.costs);
    const Bytes largest = facts.tables().WorkingSet(facts.tables().LargestWorkingSet());
    Problem problem{.step = &c.step, .costs = &c.costs, .capacity = 100 * largest, .runtime = {}};
    for (int k = 0; k < 20; ++k) {
      const std::vector<PartGroup> groups = GroupsOver(facts.tables(), largest / 10 * (3 + k % 6));
      const SearchSpace space(facts, {}, largest, 0, Allowed{}, {.groups = groups});
      GapChoices choices = AllKept(space.tables);
      for (const OpenChoices::Gap& gap : space.open.gaps) {
        choices.gaps[gap.row] = gap.ways[random.Below(static_cast<std::uint32_t>(gap.ways.size()))];
      }
      GapModel model(space.tables, problem.runtime, problem.capacity);
      Plan plan = PlanOf(problem, model, choices, "drawn");
      std::erase_if(plan.ops, [](const OpDecision& decision) { return decision.parts.empty(); });
      ChooseAlgorithms(c, plan, tally);
      INFO("plan " << k << "\n" << PlanToYaml(plan, c.step));
      CheckClose(expected, Train(c, ProvenProgram(c, plan), {.iterations = 1, .debug = k % 4 == 0}), 1e-4);
      tally.fused += FusedOps(plan);
      for (const PartGroup& group : groups) brought += group.brought.size();
      again += static_cast<std::size_t>(std::count_if(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) {
        return gap.action == GapAction::kRecompute;
      }));
    }
  }
  INFO(tally.fused << " fused ops, " << brought << " operands brought, " << again << " gaps computed again");
  CHECK(tally.fused > 60);
  CHECK(brought > 5);
  CHECK(again > 100);
}

}  // namespace spillway
