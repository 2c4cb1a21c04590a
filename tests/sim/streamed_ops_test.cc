// Plans whose ops stream operands: what they may say, what they are lowered to and what they take.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "sim/evaluate/oracle.h"
#include "sim/plan/parts.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/random_streams.h"
#include "tests/sim/parts_place.h"
#include "tests/sim/stream_all.h"
#include "tests/small_networks.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

// That op alone, and the swaps that it takes.
Plan Streamed(const PartsPlace& p, OpDecision decision) {
  Plan plan = p.Whole();
  plan.ops.push_back(std::move(decision));
  SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
  return plan;
}

// Parts take the library's choice without workspace or in some.
void GrantWhatIsWanted(const TrainingStep& step, const CostModel& costs, Plan& plan) {
  for (OpDecision& decision : plan.ops) {
    const auto launches = LaunchesOfParts(decision, step.ops[Index(decision.op)]);
    for (std::size_t k = 0; k < decision.parts.size(); ++k) {
      OpPart& part = decision.parts[k];
      for (Launch launch : launches[k]) {
        launch.workspace = part.samples % 2 == 0 ? 0 : 20 * kKiB;
        part.workspace = std::max(part.workspace, costs.Kernel(launch).workspace);
      }
    }
  }
}

// "i0 i1 k0 o0 i2 ...": copies in, kernels and copies out of one op, by part.
std::string OrderOf(const Program& program, OpId op, TensorId in, TensorId out) {
  std::string text;
  int ins = 0, kernels = 0, outs = 0;
  for (const Instruction& i : program.code) {
    if (i.opcode == Opcode::kKernel && program.kernels[i.arg].op == op) text += " k" + std::to_string(kernels++);
    if (i.opcode != Opcode::kCopy || program.copies[i.arg].box == kWhole) continue;
    const Copy& copy = program.copies[i.arg];
    if (copy.direction == Direction::kHostToDevice && program.buffers[copy.to].tensor == in) {
      text += " i" + std::to_string(ins++);
    } else if (copy.direction == Direction::kDeviceToHost && program.buffers[copy.from].tensor == out) {
      text += " o" + std::to_string(outs++);
    }
  }
  return text.empty() ? text : text.substr(1);
}

}  // namespace

TEST_CASE("a streamed op: tiles in ahead of their kernels, out behind them, no buffer of a whole operand") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("strided:forward");
  const Op& o = p.step.ops[Index(op)];
  const auto lowered = [&](int depth) {
    const Plan plan = Streamed(p, StreamAll(p, op, Ones(4), depth));
    REQUIRE(Says(p, plan) == "");
    const Program program = p.Lowered(plan);
    REQUIRE(ViolationsOf(program, p.step) == "");
    return program;
  };
  CHECK(OrderOf(lowered(1), op, o.reads[0], o.writes[0]) == "i0 k0 o0 i1 k1 o1 i2 k2 o2 i3 k3 o3");
  CHECK(OrderOf(lowered(2), op, o.reads[0], o.writes[0]) == "i0 i1 k0 o0 i2 k1 o1 i3 k2 o2 k3 o3");
  CHECK(OrderOf(lowered(3), op, o.reads[0], o.writes[0]) == "i0 i1 k0 o0 i2 k1 o1 i3 k2 o2 k3 o3");
  CHECK(OrderOf(lowered(4), op, o.reads[0], o.writes[0]) == "i0 i1 i2 k0 o0 i3 k1 o1 k2 o2 k3 o3");
  const Program program = lowered(3);
  for (const Kernel& kernel : program.kernels) {
    if (kernel.op != op) continue;
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Buffer& buffer = program.buffers[program.operands[kernel.operands + k].buffer];
      if (buffer.kind == BufferKind::kWorkspace) continue;
      const Tensor& tensor = p.step.tensors[Index(buffer.tensor)];
      CHECK(buffer.bytes == RoundToUnit(MayStream(tensor) ? tensor.bytes / 4 : tensor.bytes));
    }
  }
}

TEST_CASE("deeper tiles take more memory and no more time") {
  const PartsPlace p(Vgg());
  const OpId op = p.Op("conv1_2:forward"), bias = p.Op("conv1_2:bias");  // in place: they write one tensor
  Problem problem{.step = &p.step, .costs = &p.costs, .capacity = 0, .runtime = {}};
  std::vector<Nanos> times;
  std::vector<Bytes> sets;
  for (const int depth : {1, 2, 3}) {
    Plan plan = p.Whole();
    plan.ops = {StreamAll(p, op, Ones(8), depth), StreamAll(p, bias, Ones(8), depth)};
    SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
    REQUIRE(Says(p, plan) == "");
    problem.capacity = 101 * LowerItems(plan, p.tables, 1).list_peak / 100;  // there is room for no more
    const Evaluation e = Evaluate(plan, problem);
    INFO(e.reason);
    REQUIRE(e.feasible);
    times.push_back(e.step_time);
    sets.push_back(p.tables.WorkingSets(plan.ops)[Index(op)]);
  }
  CHECK(times[1] <= times[0]);
  CHECK(times[2] <= times[1]);
  CHECK(sets[0] < sets[1]);
  CHECK(sets[1] < sets[2]);
  // Of 8 samples two are there of what is read and two of what is written, in place of all.
  const Op& o = p.step.ops[Index(op)];
  const Bytes read = p.step.tensors[Index(o.reads[0])].bytes, written = p.step.tensors[Index(o.writes[0])].bytes;
  CHECK(p.tables.WorkingSet(op) - sets[2] == (read + written) * 3 / 4);
}

TEST_CASE("a step streamed throughout needs a fraction of the memory of any plan of whole ops") {
  const PartsPlace p(Vgg());
  Plan plan = p.Whole();
  for (OpId op = 0; op < static_cast<OpId>(p.step.ops.size()); ++op) {
    const Op& o = p.step.ops[Index(op)];
    if (!HasSampleParts(o)) continue;
    OpDecision decision = StreamAll(p, op, Ones(o.shape.in.n));
    if (o.layer < 0 || p.step.layer_names[Index(o.layer)].starts_with("drop")) continue;
    plan.ops.push_back(std::move(decision));
  }
  // What dropout and the loss use is in place, and so are its other writers.
  for (OpDecision& decision : plan.ops) {
    std::erase_if(decision.streamed, [&](TensorId t) {
      const std::vector<OpId>& writers = p.tables.uses.writers[Index(t)];
      return std::any_of(writers.begin(), writers.end(), [&](OpId w) {
        return std::none_of(plan.ops.begin(), plan.ops.end(), [&](const OpDecision& d) { return d.op == w; });
      });
    });
  }
  std::erase_if(plan.ops, [](const OpDecision& decision) { return decision.streamed.empty(); });
  SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
  REQUIRE(Says(p, plan) == "");
  const Bytes whole = p.tables.WorkingSet(p.tables.LargestWorkingSet());
  const std::vector<Bytes> sets = p.tables.WorkingSets(plan.ops);
  CHECK(*std::max_element(sets.begin(), sets.end()) < whole);
  const Problem problem{.step = &p.step, .costs = &p.costs, .capacity = whole - kAllocationUnit, .runtime = {}};
  const Evaluation e = Evaluate(plan, problem);
  INFO(e.reason);
  REQUIRE(e.feasible);
  CHECK(e.peak_bytes < whole);
  CHECK(e.bounds.Best() <= e.step_time);
  const Evaluation swapped = Evaluate(p.Whole(), problem);
  CHECK_FALSE(swapped.feasible);
}

TEST_CASE("random streamed plans are lowered to Programs that verify proves, on every runtime") {
  Random random(11);
  const int per_runtime = Cases(4, 12);
  int programs = 0, streaming = 0;
  const std::vector<Runtime> runtimes = {
      {},
      {.copy_streams = 1},
      {.copy_chunk = kLeastCopyChunk},
      {.barrier = Barrier::kOp, .part_waits = PartWaits::kHost},
      {.copy_streams = 1, .memory = MemoryModel::kPool, .host_syncs = HostSyncs::kBackwardLayer},
      {.swap_in_waits = SwapInWaits::kBackwardLayer, .backward_units = BackwardUnits::kBreakPoints},
      {.memory = MemoryModel::kPool, .swap_in_waits = SwapInWaits::kBackwardLayer, .part_waits = PartWaits::kHost}};
  for (const SmallNetwork& network : kNetworks) {
    const PartsPlace p(network.build(), network.options);
    for (const Runtime& runtime : runtimes) {
      for (int k = 0; k < per_runtime; ++k) {
        Plan plan = RandomPlan(p.step, runtime, 10 * random.Below(9), random);
        AddRandomParts(p.step, 30, random, plan);
        AddRandomTiles(p.step, {2, 3, 4}, random, plan);
        AddRandomTiledStreams(p.step, 20 + 20 * random.Below(5), {2, 3, 4}, random, plan);
        INFO(network.name << " " << PlanToYaml(plan, p.step));
        REQUIRE(Says(p, plan) == "");
        REQUIRE(ParsePlan(PlanToYaml(plan, p.step), "plan.yaml", p.step) == plan);
        const Program program = p.Lowered(plan);
        REQUIRE(ViolationsOf(program, p.step) == "");
        ++programs;
        streaming += ScopeOf(plan).parts == PartScope::kStreamed ? 1 : 0;
      }
    }
  }
  CHECK(programs == 4 * 7 * per_runtime);
  CHECK(streaming > programs * 9 / 10);
}

TEST_CASE("no streamed plan is faster than the bounds") {
  const std::vector<TileCounts> kTilesOfSeed = {{}, {2, 1, 1}, {1, 2, 1}, {1, 1, 3}};
  Random random(23);
  int cases = 0, close = 0;
  for (std::uint64_t seed = 1; seed <= Cases(12u, 40u); ++seed) {
    const PartsPlace p(seed % 2 == 0 ? BoxedNetwork() : Modules());
    const DiceCosts costs(p.machine, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, costs);
    const Bytes most = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    for (const Bytes capacity : {most * 2 / 3, most, most * 2}) {
      const Oracle oracle(facts, capacity);
      for (int k = 0; k < 20; ++k) {
        Runtime runtime;
        runtime.copy_streams = random.Between(1, 2);
        const std::uint32_t memory = random.Below(3);
        if (memory == 0) runtime.memory = MemoryModel::kPool;
        if (memory == 1) runtime.memory = MemoryModel::kCounted;
        if (random.Below(3) == 0) runtime.copy_chunk = kLeastCopyChunk;
        Plan plan = RandomPlan(p.step, runtime, 10 * random.Below(9), random);
        AddRandomTiledStreams(p.step, 40 + 20 * random.Below(4), kTilesOfSeed[seed % 4], random, plan);
        GrantWhatIsWanted(p.step, costs, plan);
        const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
        if (!e.feasible) continue;
        INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, p.step));
        REQUIRE(e.widest.Best() <= e.bounds.Best());
        REQUIRE(e.bounds.Best() <= e.step_time);
        ++cases;
        close += e.bounds.Best() * 10 > e.step_time * 3 ? 1 : 0;
      }
    }
  }
  INFO(cases << " plans, " << close << " within 3.3 times their bound");
  CHECK(cases > Cases(300, 1000));
  CHECK(close > cases / 20);
}

TEST_CASE("what is streamed must be on the host, and nowhere else") {
  const PartsPlace p(BoxedNetwork());
  const OpId op = p.Op("strided:forward");
  const Plan good = Streamed(p, StreamAll(p, op, Ones(4)));
  REQUIRE(good.gaps.size() == 3);  // of the map before it and behind it, of the result behind it
  Plan plan = good;
  plan.gaps.clear();
  CHECK(
      Says(p, plan).find("ops[0]: op 'strided:forward' streams tensor 'relu', which 'relu:forward' has on the device: "
                         "expected a swap of it after 'relu:forward' before 'strided:forward' in gaps, found none\n") !=
      std::string::npos);
  plan = good;
  plan.gaps[0].action = GapAction::kRecompute;
  plan.gaps[0].out_after = plan.gaps[0].in_at = kNoOp;
  CHECK(
      Says(p, plan).find("cannot be recomputed between 'relu:forward' and 'strided:forward': 'strided:forward' streams "
                         "it; expected a swap") != std::string::npos);
  plan = good;
  plan.ops[0].streamed.push_back(plan.ops[0].streamed[0]);
  CHECK(Says(p, plan) == "ops[0]: op 'strided:forward' streams tensor 'relu' twice\n");
  plan.ops[0] = {.op = op, .streamed = good.ops[0].streamed};
  CHECK(Says(p, plan) == "ops[0]: op 'strided:forward': expected parts beside what it streams, found none\n");
  plan.ops[0] = {.op = op, .depth = 2};
  CHECK(Says(p, plan) == "ops[0]: op 'strided:forward': depth belongs to what it streams, which is nothing\n");
  plan.ops[0] = good.ops[0];
  plan.ops[0].depth = 17;
  CHECK(Says(p, plan) == "ops[0]: op 'strided:forward': depth must be from 1 to 16, found 17\n");
  plan = good;
  plan.ops[0].streamed.push_back(p.step.ops[Index(op)].reads[1]);
  INFO(Says(p, plan));
  CHECK(Says(p, plan).find("cannot stream tensor 'strided:weight', which is parameter: only what has samples is "
                           "streamed") != std::string::npos);
  plan = p.Whole();
  plan.ops.push_back({.op = static_cast<OpId>(p.step.ops.size()) - 1, .parts = Ones(4)});
  CHECK(Says(p, plan).find("an op of kind update runs whole only") != std::string::npos);
}

TEST_CASE("streamed tensors of a plan file: unknown names with the nearest") {
  const PartsPlace p(BoxedNetwork());
  const Plan plan = Streamed(p, StreamAll(p, p.Op("strided:forward"), Ones(4), 2));
  const std::string text = PlanToYaml(plan, p.step);
  INFO(text);
  CHECK(text.find("times: 4}], streamed: [relu, strided], depth: 2}") != std::string::npos);
  std::string wrong = text;
  wrong.replace(wrong.find("streamed: [relu"), 15, "streamed: [rel");
  CHECK(ErrorOf([&] { ParsePlan(wrong, "plan.yaml", p.step); }).find("streamed: the step has no tensor 'rel'") !=
        std::string::npos);
}

}  // namespace spillway
