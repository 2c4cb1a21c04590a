// Plans that divide ops along the batch: what they may say, what they are lowered to and what they take.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "tests/random_plan.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

std::vector<const Kernel*> KernelsOf(const Program& program, OpId op) {
  std::vector<const Kernel*> kernels;
  for (const Instruction& instruction : program.code) {
    if (instruction.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[instruction.arg];
    if (kernel.op == op) kernels.push_back(&kernel);
  }
  return kernels;
}

}  // namespace

TEST_CASE("an op in parts is a kernel for each, on boxes of the same tensors") {
  const PartsPlace p(BoxedNetwork());
  const OpId forward = p.Op("strided:forward"), filter = p.Op("strided:backward_filter");
  Plan plan = p.Divided(forward, {{3, 0, 0}, {1, 0, 0}});
  plan.ops.push_back({.op = filter, .parts = {{2, 1, 1000}, {1, 1, 3000}, {1, 1, 3000}}});
  REQUIRE(CheckPlan(plan, p.step).empty());
  const Program program = p.Lowered(plan);
  CHECK(ViolationsOf(program, p.step) == "");

  const auto parts = KernelsOf(program, forward);
  REQUIRE(parts.size() == 2);
  CHECK(program.launches[parts[0]->launch].shape.in.n == 3);
  CHECK(program.launches[parts[1]->launch].shape.out.n == 1);
  const Operand& x = program.operands[parts[1]->operands];
  CHECK(BoxText(program.boxes[x.box]) == "[3:4]x[0:8]x[0:1]x[0:9]x[0:8]");

  // The first writes, the others add; all in one workspace, as large as the largest.
  const auto sums = KernelsOf(program, filter);
  REQUIRE(sums.size() == 3);
  std::vector<BufferId> workspaces;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    CHECK(program.launches[sums[k]->launch].accumulate == (k > 0));
    for (std::uint32_t o = 0; o < sums[k]->operand_count; ++o) {
      const Operand& operand = program.operands[sums[k]->operands + o];
      const Buffer& buffer = program.buffers[operand.buffer];
      if (buffer.kind == BufferKind::kWorkspace) workspaces.push_back(operand.buffer);
      if (buffer.kind == BufferKind::kTensor && buffer.tensor == p.step.ops[Index(filter)].writes[0]) {
        CHECK(operand.access == (k > 0 ? Access::kReadWrite : Access::kWrite));
      }
    }
  }
  CHECK(sums[1]->launch == sums[2]->launch);
  REQUIRE(workspaces.size() == 3);
  CHECK(workspaces[0] == workspaces[2]);
  CHECK(program.buffers[workspaces[0]].bytes == RoundToUnit(3000));
}

TEST_CASE("a step in parts takes what its kernels take, and the host waits where the runtime says so") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("plain:forward");
  const Problem problem{.step = &p.step, .costs = &p.costs, .capacity = kGB, .runtime = {}};
  Plan plan = p.Whole();
  const Evaluation whole = Evaluate(plan, problem);
  plan = p.Divided(op, {{1, 0, 0}, {1, 0, 0}, {2, 0, 0}});
  const Evaluation parts = Evaluate(plan, problem);
  REQUIRE(whole.feasible);
  REQUIRE(parts.feasible);
  const auto time = [&](std::int64_t samples) {
    Launch launch = PartOf(LaunchOf(p.step.ops[Index(op)]), samples, true);
    launch.workspace = 0;
    return p.costs.Kernel(launch).time;
  };
  CHECK(parts.compute_time - whole.compute_time == 2 * time(1) + time(2) - time(4));
  CHECK(parts.step_time >= parts.compute_time);
  const auto syncs = [](const Evaluation& e) {
    return std::count_if(e.program.code.begin(), e.program.code.end(),
                         [](const Instruction& i) { return i.opcode == Opcode::kHostSync; });
  };
  CHECK(syncs(parts) == 0);
  plan.runtime.part_waits = PartWaits::kHost;
  const Evaluation waits = Evaluate(plan, problem);
  CHECK(syncs(waits) == 3);
  CHECK(waits.step_time >= parts.step_time);
  // An op in one part is the whole op, and waited for.
  plan = p.Divided(op, {{4, 0, 0}});
  CHECK(Evaluate(plan, problem).step_time == whole.step_time);
  plan.runtime.part_waits = PartWaits::kHost;
  CHECK(syncs(Evaluate(plan, problem)) == 1);
}

TEST_CASE("random plans in parts are lowered to Programs that verify proves, on every runtime") {
  Random random(5);
  int programs = 0, divided = 0;
  const std::vector<Runtime> runtimes = {
      {},
      {.copy_streams = 1},
      {.copy_chunk = kLeastCopyChunk},
      {.barrier = Barrier::kOp, .part_waits = PartWaits::kHost},
      {.part_waits = PartWaits::kHost, .workspaces = Workspaces::kHeld},
      {.copy_streams = 1, .memory = MemoryModel::kPool, .host_syncs = HostSyncs::kBackwardLayer},
      {.memory = MemoryModel::kPool, .swap_in_waits = SwapInWaits::kBackwardLayer, .part_waits = PartWaits::kHost}};
  for (const SmallNetwork& network : kNetworks) {
    const PartsPlace p(network.build(), network.options);
    for (const Runtime& runtime : runtimes) {
      for (int k = 0; k < 12; ++k) {
        Plan plan = RandomPlan(p.step, runtime, 10 * random.Below(9), random);
        AddRandomEntries(p.step, random, plan);
        AddRandomParts(p.step, 50, random, plan);
        AddRandomTiles(p.step, {3, 3, 4}, random, plan);
        AddRandomAgain(p.step, random, plan);
        const auto mistakes = FindMistakes(plan, p.step);
        if (!mistakes.empty()) plan.recompute.clear();
        INFO(network.name << " " << PlanToYaml(plan, p.step));
        REQUIRE(CheckPlan(plan, p.step).empty());
        REQUIRE(ParsePlan(PlanToYaml(plan, p.step), "plan.yaml", p.step) == plan);
        const Program program = p.Lowered(plan);
        REQUIRE(ViolationsOf(program, p.step) == "");
        ++programs;
        divided += program.boxes.empty() ? 0 : 1;
      }
    }
  }
  CHECK(programs == 4 * 7 * 12);
  CHECK(divided > programs * 9 / 10);
}

TEST_CASE("parts that are not all of an op, or of what has none, are named") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("plain:forward");
  const auto says = [&](OpId of, std::vector<OpPart> parts) {
    std::string text;
    for (const std::string& mistake : CheckPlan(p.Divided(of, std::move(parts)), p.step)) text += mistake + "\n";
    return text;
  };
  CHECK(says(op, {{2, 0, 0}, {1, 0, 0}}) ==
        "ops[0]: op 'plain:forward': expected parts of 4 samples in all, found 3\n");
  CHECK(says(op, {{5, 0, 0}}) ==
        "ops[0]: op 'plain:forward': expected parts of 1 to 4 samples that are as many in all\n");
  CHECK(says(op, {{4, 0, 0}, {0, 0, 0}}) ==
        "ops[0]: op 'plain:forward': expected parts of 1 to 4 samples that are as many in all\n");
  CHECK(says(op, {{4, 99, -1}}) ==
        fmt::format("ops[0]: op 'plain:forward', part 0: no algorithm 99; it has {}, and 0 is the library's choice\n"
                    "ops[0]: op 'plain:forward', part 0: workspace must not be negative\n",
                    AlgorithmNames(OpKind::kConvolution, Pass::kForward).size()));
  CHECK(says(p.Op("relu:forward"), {{4, 0, 0}}) ==
        "ops[0]: op 'relu:forward': expected what it streams beside its parts, as of any relu, found nothing\n");
  Plan both = p.Divided(op, {{4, 0, 0}});
  both.ops[0].workspace = 8;
  CHECK(CheckPlan(both, p.step) ==
        std::vector<std::string>{
            "ops[0]: op 'plain:forward': expected algorithm and workspace in its parts, found them beside parts"});
}

TEST_CASE("a part in too little workspace is refused with its size") {
  const PartsPlace p(BoxedNetwork());
  const DiceCosts costs(p.machine, 3);
  const OpId op = p.Op("plain:forward");
  const Problem problem{.step = &p.step, .costs = &costs, .capacity = kGB, .runtime = {}};
  Launch launch = PartOf(LaunchOf(p.step.ops[Index(op)]), 3, true);
  launch.algorithm = 2;
  REQUIRE(costs.Kernel(launch).workspace > 0);
  const Evaluation e = Evaluate(p.Divided(op, {{3, 2, 0}, {1, 1, 0}}), problem);
  CHECK_FALSE(e.feasible);
  CHECK(e.reason.starts_with("workspace: plain:forward in a part of 3 samples wants "));
}

TEST_CASE("a framework's time and its collections are an op's, not its parts'") {
  const PartsPlace p(BoxedNetwork());
  const Problem problem{.step = &p.step, .costs = &p.costs, .capacity = kGB, .runtime = {}};
  const TensorId map = p.step.ops[Index(p.Op("relu:forward"))].writes[0];  // of which the convolution runs again, too
  const MapGap gap = ForwardBackwardGap(p.step, p.tables.uses, map);
  for (const MemoryModel memory : {MemoryModel::kArena, MemoryModel::kPool}) {
    const auto time = [&](std::size_t parts, Nanos framework, Nanos collection) {
      Plan plan =
          p.Divided(p.Op("plain:forward"), std::vector<OpPart>(parts, OpPart{4 / static_cast<int>(parts), 0, 0}));
      plan.gaps.push_back(
          {.tensor = map, .after = gap.after, .before = gap.before, .action = GapAction::kRecompute, .reason = ""});
      plan.runtime.memory = memory;
      plan.runtime.framework_time = framework;
      plan.runtime.collection_time = collection;
      const Evaluation e = Evaluate(plan, problem);
      REQUIRE(e.feasible);
      return e.step_time;
    };
    // Long enough for the host to be what the step takes.
    constexpr Nanos kLong = 100 * kMillisecond;
    const Nanos ops = static_cast<Nanos>(p.step.ops.size()) + 2;
    for (const std::size_t parts : {1u, 2u, 4u}) {
      INFO(parts << " parts");
      CHECK(time(parts, kLong, 0) / kLong == ops);
      CHECK(time(parts, 0, kLong) / kLong == 2);
    }
  }
}

TEST_CASE("copies of what ops in parts touch are cut between samples, a single part cuts nothing") {
  const PartsPlace p(Vgg());
  const OpId op = p.Op("conv1_2:forward");
  const auto copies = [&](std::vector<OpPart> parts, Bytes chunk) {
    Plan plan = p.Divided(op, std::move(parts));
    if (plan.ops[0].parts.empty()) plan.ops.clear();
    plan.runtime.copy_chunk = chunk;
    const TensorId map = p.step.ops[Index(op)].reads[0];
    const MapGap gap = ForwardBackwardGap(p.step, p.tables.uses, map);
    plan.gaps.push_back({.tensor = map,
                         .after = gap.after,
                         .before = gap.before,
                         .out_after = gap.after,
                         .in_at = gap.before,
                         .reason = ""});
    REQUIRE(CheckPlan(plan, p.step).empty());
    const Program program = p.Lowered(plan);
    REQUIRE(ViolationsOf(program, p.step) == "");
    return program.copies.size();
  };
  const std::int64_t batch = p.step.batch;
  const std::vector<OpPart> whole{{batch, 0, 0}}, halves{{batch / 2, 0, 0}, {batch - batch / 2, 0, 0}};
  for (const Bytes chunk : {Bytes{0}, kLeastCopyChunk, Bytes{100'000}})
    CHECK(copies(whole, chunk) == copies({}, chunk));
  CHECK(copies(halves, 0) == copies({}, 0));
  CHECK(copies(halves, std::numeric_limits<Bytes>::max()) == copies({}, 0));
  CHECK(copies(halves, kLeastCopyChunk) > copies({}, 0));
}

TEST_CASE("the workspace that parts share is as large as any of them is granted") {
  const PartsPlace p(BoxedNetwork());
  const Program safe = p.Lowered(p.Divided(p.Op("plain:forward"), {{2, 1, 2000}, {2, 1, 5000}}));
  REQUIRE(ViolationsOf(safe, p.step) == "");
  Program program = safe;
  for (Buffer& buffer : program.buffers) {
    if (buffer.kind == BufferKind::kWorkspace) buffer.bytes = std::min<Bytes>(buffer.bytes, 2048);
  }
  CHECK(ViolationsOf(program, p.step).find("the launch is granted 5 kB of workspace and has 2 KiB") !=
        std::string::npos);
}

// What a plan grants decides, not what the library would have asked for.
TEST_CASE("an op fits in the workspace that its decision grants") {
  const PartsPlace p(BoxedNetwork());
  const DiceCosts costs(p.machine, 3);
  const StepTables tables(p.step, costs);
  const OpId op = tables.LargestWorkingSet();
  const Launch usual = tables.launches[tables.launch[Index(op)]];
  REQUIRE(p.step.ops[Index(op)].kind == OpKind::kConvolution);
  REQUIRE(usual.workspace > 0);
  Plan plan = p.Divided(op, {{2, 1, 0}, {2, 1, 0}});
  CHECK(tables.WorkingSets(plan.ops)[Index(op)] == tables.WorkingSet(op) - usual.workspace);
  plan.ops[0] = {.op = op, .algorithm = 1, .workspace = 1000};
  CHECK(tables.WorkingSets(plan.ops)[Index(op)] == tables.WorkingSet(op) - usual.workspace + 1000);
  const std::vector<Bytes> whole = tables.WorkingSets({});
  CHECK(*std::max_element(whole.begin(), whole.end()) == tables.WorkingSet(op));
}

TEST_CASE("plans of ops in parts as text: equal parts in a row once") {
  const PartsPlace p(BoxedNetwork());
  Plan plan = p.Divided(p.Op("plain:forward"), {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 2, kMiB}});
  const std::string text = PlanToYaml(plan, p.step);
  INFO(text);
  CHECK(text.find("parts: [{samples: 1, workspace: 0 B, times: 3}, {samples: 1, algorithm: ") != std::string::npos);
  CHECK(ParsePlan(text, "plan.yaml", p.step) == plan);
  std::string often = text;
  often.replace(often.find("times: 3"), 8, "times: 4000000000");
  CHECK(ErrorOf([&] {
          ParsePlan(often, "plan.yaml", p.step);
        }).find("expected no more parts than the batch's 4 samples, found 4000000000 times") != std::string::npos);
}

}  // namespace spillway
