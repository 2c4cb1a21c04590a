// Plans that divide ops along the batch: what they may say, what they are lowered to, and that no bound is above them.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <memory>

#include "model/cost/menu.h"
#include "sim/evaluate.h"
#include "sim/program/layout.h"
#include "sim/verify/verify.h"
#include "tests/boxed_network.h"
#include "tests/random_plan.h"
#include "tests/small_networks.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

struct Place {
  explicit Place(const Network& network, const char* options = "plain")
      : step(BuildTrainingStep(network, StepOptionsByName(options))), tables(step, costs) {}
  TrainingStep step;
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  StepTables tables;

  OpId Op(const std::string& name) const {
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      if (step.ops[op].name == name) return static_cast<OpId>(op);
    }
    FAIL("no op " << name);
    return kNoOp;
  }
  Plan Whole() const {
    Plan plan;
    plan.strategy = "by hand";
    plan.network = step.network;
    plan.batch = step.batch;
    return plan;
  }
  Plan Divided(OpId op, std::vector<OpPart> parts) const {
    Plan plan = Whole();
    plan.ops.push_back({.op = op, .parts = std::move(parts)});
    return plan;
  }
  Program Lowered(const Plan& plan) const {
    Program program = Lower(plan, tables, 0).program;
    if (program.arena) PlaceBuffers(program);
    return program;
  }
};

std::string Says(const Program& program, const TrainingStep& step) {
  std::string text;
  for (const Violation& violation : Verify(program, &step)) text += violation.message + "\n";
  return text;
}

std::vector<const Kernel*> KernelsOf(const Program& program, OpId op) {
  std::vector<const Kernel*> kernels;
  for (const Instruction& instruction : program.code) {
    if (instruction.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[instruction.arg];
    if (kernel.op == op) kernels.push_back(&kernel);
  }
  return kernels;
}

// Every size of every launch takes a time of its own, whose order nobody can guess, in workspaces likewise.
class DiceCosts : public CostModel {
 public:
  DiceCosts(const Machine& machine, std::uint64_t seed) : CostModel(machine), seed_(seed) {}

  Cost Kernel(const Launch& launch, int device = 0) const override {
    if (launch.kind != OpKind::kConvolution) return CostModel::Kernel(launch, device);
    const Bytes granted = launch.workspace == kUsualWorkspace ? options().workspace_limit : launch.workspace;
    if (launch.algorithm != 0) return Way(launch, launch.algorithm);
    for (std::int32_t algorithm = kAlgorithms; algorithm > 1; --algorithm) {
      const Cost cost = Way(launch, algorithm);
      if (cost.workspace <= granted) return cost;
    }
    return Way(launch, 1);
  }
  std::vector<MenuEntry> Menu(const Launch& launch, int /*device*/ = 0) const override {
    return MenuOf(launch, std::vector<std::int32_t>{1, 2, 3}, [this](const Launch& asked) { return Kernel(asked); });
  }

 private:
  static constexpr std::int32_t kAlgorithms = 3;
  Cost Way(const Launch& launch, std::int32_t algorithm) const {
    const OpShape& s = launch.shape;
    std::uint64_t key = seed_;
    for (const std::int64_t of : {s.in.n, s.in.c, s.in.h, s.out.c, s.window[1], static_cast<std::int64_t>(launch.pass),
                                  std::int64_t{launch.accumulate}, std::int64_t{algorithm}}) {
      key = (key ^ static_cast<std::uint64_t>(of)) * 0x9E3779B97F4A7C15u;
      key ^= key >> 29;
    }
    Random random(key);
    Cost cost;
    cost.time = random.Below(3000) + s.in.n * (1 + random.Below(8000)) * 10 / 7;
    cost.workspace = algorithm == 1 ? 0 : 512 * random.Below(200);
    cost.algorithm = algorithm;
    cost.how = "model";
    return cost;
  }
  std::uint64_t seed_;
};

Runtime RandomRuntime(Random& random) {
  Runtime runtime;
  runtime.copy_streams = random.Between(1, 2);
  if (random.Below(3) == 0) runtime.memory = MemoryModel::kPool;
  if (random.Below(3) == 0) runtime.copy_chunk = kLeastCopyChunk;
  if (random.Below(3) == 0) runtime.part_waits = PartWaits::kHost;
  if (random.Below(4) == 0) runtime.framework_time = random.Between(1, 2000);
  if (random.Below(4) == 0) runtime.barrier = Barrier::kOp;
  return runtime;
}

// Algorithms by name and the library's, in what they want and in more; some of the ops whole.
void GrantWhatIsWanted(const TrainingStep& step, const CostModel& costs, Random& random, Plan& plan) {
  const auto grant = [&](Launch launch, std::int32_t& algorithm, Bytes& workspace) {
    algorithm = random.Between(0, 3);
    launch.algorithm = algorithm;
    launch.workspace = 512 * random.Below(250);
    workspace = costs.Kernel(launch).workspace + (algorithm == 0 ? 0 : 512 * random.Below(2));
  };
  for (OpDecision& decision : plan.ops) {
    const Launch launch = LaunchOf(step.ops[Index(decision.op)]);
    if (random.Below(8) == 0) {
      decision.parts.clear();
      grant(launch, decision.algorithm, decision.workspace);
    }
    for (std::size_t k = 0; k < decision.parts.size(); ++k) {
      OpPart& part = decision.parts[k];
      grant(PartOf(launch, part.samples, k == 0), part.algorithm, part.workspace);
    }
  }
}

}  // namespace

TEST_CASE("an op in parts is a kernel for each, on boxes of the same tensors") {
  const Place p(BoxedNetwork());
  const OpId forward = p.Op("strided:forward"), filter = p.Op("strided:backward_filter");
  Plan plan = p.Divided(forward, {{3, 0, 0}, {1, 0, 0}});
  plan.ops.push_back({.op = filter, .parts = {{2, 1, 1000}, {1, 1, 3000}, {1, 1, 3000}}});
  REQUIRE(CheckPlan(plan, p.step).empty());
  const Program program = p.Lowered(plan);
  CHECK(Says(program, p.step) == "");

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
  const Place p(BoxedNetwork());
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
      {.copy_streams = 1, .memory = MemoryModel::kPool, .host_syncs = HostSyncs::kBackwardLayer},
      {.memory = MemoryModel::kPool, .swap_in_waits = SwapInWaits::kBackwardLayer, .part_waits = PartWaits::kHost}};
  for (const SmallNetwork& network : kNetworks) {
    const Place p(network.build(), network.options);
    for (const Runtime& runtime : runtimes) {
      for (int k = 0; k < 12; ++k) {
        Plan plan = RandomPlan(p.step, runtime, 10 * random.Below(9), random);
        AddRandomEntries(p.step, random, plan);
        AddRandomParts(p.step, 50, random, plan);
        const auto mistakes = FindMistakes(plan, p.step);
        if (!mistakes.empty()) plan.recompute.clear();
        INFO(network.name << " " << PlanToYaml(plan, p.step));
        REQUIRE(CheckPlan(plan, p.step).empty());
        REQUIRE(ParsePlan(PlanToYaml(plan, p.step), "plan.yaml", p.step) == plan);
        const Program program = p.Lowered(plan);
        REQUIRE(Says(program, p.step) == "");
        ++programs;
        divided += program.boxes.empty() ? 0 : 1;
      }
    }
  }
  CHECK(programs == 4 * 6 * 12);
  CHECK(divided > programs * 9 / 10);
}

TEST_CASE("no plan in parts is faster than the bounds") {
  Random random(7);
  int cases = 0, close = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Network network = seed % 2 == 0 ? BoxedNetwork() : Modules();
    const Place p(network);
    const DiceCosts costs(p.machine, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, costs);
    const Bytes most = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    for (const Bytes capacity : {most + most / 8, most * 2}) {
      const Oracle oracle(facts, capacity);
      for (int k = 0; k < 40; ++k) {
        Plan plan = RandomPlan(p.step, RandomRuntime(random), 10 * random.Below(9), random);
        AddRandomParts(p.step, 50 + 50 * random.Below(2), random, plan);
        GrantWhatIsWanted(p.step, costs, random, plan);
        const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
        if (!e.feasible) continue;
        INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, p.step));
        REQUIRE(e.widest.Best() <= e.bounds.Best());
        REQUIRE(e.bounds.Best() <= e.step_time);
        ++cases;
        close += e.bounds.Best() * 10 > e.step_time * 5 ? 1 : 0;
      }
    }
  }
  CHECK(cases > 2000);
  INFO(close << " within twice the bound");
  CHECK(close > cases / 10);
}

// Every convolution in the fastest parts there are, found by trying all sizes of each next part.
Plan BestParts(const Place& p, const CostModel& costs) {
  Plan plan = p.Whole();
  for (OpId op = 0; op < static_cast<OpId>(p.step.ops.size()); ++op) {
    const Op& o = p.step.ops[Index(op)];
    if (o.kind != OpKind::kConvolution) continue;
    std::vector<std::pair<Nanos, std::vector<OpPart>>> best(Index(static_cast<OpId>(o.shape.in.n) + 1));
    for (std::int64_t done = 0; done < o.shape.in.n; ++done) {
      const auto [time, parts] = best[static_cast<std::size_t>(done)];
      for (std::int64_t samples = 1; done + samples <= o.shape.in.n; ++samples) {
        auto& next = best[static_cast<std::size_t>(done + samples)];
        for (const MenuEntry& entry : costs.Menu(PartOf(LaunchOf(o), samples, done == 0))) {
          if (!next.second.empty() && time + entry.cost.time >= next.first) continue;
          next = {time + entry.cost.time, parts};
          next.second.push_back({samples, entry.algorithm, entry.workspace});
        }
      }
    }
    plan.ops.push_back({.op = op, .parts = best.back().second});
  }
  return plan;
}

TEST_CASE("the fastest parts beat every whole op, and not the bound") {
  int faster = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Place p(BoxedNetwork());
    const DiceCosts costs(p.machine, seed);
    const Oracle oracle(std::make_shared<const StepFacts>(p.step, costs), kGB);
    const Evaluation e = oracle.Evaluate(BestParts(p, costs), {.timeline = false});
    REQUIRE(e.feasible);
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.bounds.compute * 10 > e.compute_time * 7);
    faster += e.step_time < oracle.BoundsIn(WidestScope()).Best() ? 1 : 0;
  }
  INFO(faster << " of 20 faster than any plan of whole ops");
  CHECK(faster > 10);
}

TEST_CASE("with parts that add up to the best rate the bound is met") {
  const Place p(BoxedNetwork());
  const DiceCosts costs(p.machine, 3);
  const OpId op = p.Op("plain:forward");
  const Launch launch = LaunchOf(p.step.ops[Index(op)]);
  const std::vector<PartRate> rates = PartRatesOf(launch, costs);
  REQUIRE(!rates.empty());
  double best = 1e300;
  for (std::int64_t samples = 1; samples <= 4; ++samples) {
    for (const MenuEntry& entry : costs.Menu(PartOf(launch, samples, true))) {
      best = std::min(best, static_cast<double>(entry.cost.time) / static_cast<double>(samples));
    }
  }
  CHECK(rates.front().nanos_per_sample == best);
  for (std::size_t k = 1; k < rates.size(); ++k) {
    CHECK(rates[k].nanos_per_sample > rates[k - 1].nanos_per_sample);
    CHECK(rates[k].workspace < rates[k - 1].workspace);
  }
  CHECK(PartRatesOf(LaunchOf(p.step.ops[Index(p.Op("relu:forward"))]), costs).empty());
}

TEST_CASE("parts that are not all of an op, or of what has none, are named") {
  const Place p(BoxedNetwork());
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
        "ops[0]: op 'relu:forward': parts are of convolutions, this is relu\n");
  Plan both = p.Divided(op, {{4, 0, 0}});
  both.ops[0].workspace = 8;
  CHECK(CheckPlan(both, p.step) ==
        std::vector<std::string>{
            "ops[0]: op 'plain:forward': expected algorithm and workspace in its parts, found them beside parts"});
}

TEST_CASE("a part in too little workspace is refused with its size") {
  const Place p(BoxedNetwork());
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
  const Place p(BoxedNetwork());
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
  const Place p(Vgg());
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
    REQUIRE(Says(program, p.step) == "");
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
  const Place p(BoxedNetwork());
  const Program safe = p.Lowered(p.Divided(p.Op("plain:forward"), {{2, 1, 2000}, {2, 1, 5000}}));
  REQUIRE(Says(safe, p.step) == "");
  Program program = safe;
  for (Buffer& buffer : program.buffers) {
    if (buffer.kind == BufferKind::kWorkspace) buffer.bytes = std::min<Bytes>(buffer.bytes, 2048);
  }
  CHECK(Says(program, p.step).find("the launch is granted 5 kB of workspace and has 2 KiB") != std::string::npos);
}

// What a plan grants decides, not what the library would have asked for.
TEST_CASE("an op fits in the workspace that its decision grants") {
  const Place p(BoxedNetwork());
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
  const Place p(BoxedNetwork());
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
