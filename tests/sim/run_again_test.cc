// Ops that run in another way when they are recomputed (OpDecision::again): what they are lowered to, what a device must
// grant, and that `best` finds it where memory is short the second time only.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "model/recorded/recorded_step.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/parts_place.h"

namespace spillway {
namespace {

struct Run {
  bool again = false;
  std::int32_t algorithm = 0;
  Bytes workspace = 0;
  bool operator==(const Run&) const = default;
};

// In order, with what is there for them: the bytes of their workspace's buffer.
std::vector<Run> RunsOf(const Program& program, OpId op) {
  std::vector<Run> runs;
  for (const Instruction& instruction : program.code) {
    if (instruction.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = program.kernels[instruction.arg];
    if (kernel.op != op) continue;
    runs.push_back({kernel.recomputation, program.launches[kernel.launch].algorithm, 0});
    for (std::uint32_t o = 0; o < kernel.operand_count; ++o) {
      const Buffer& buffer = program.buffers[program.operands[kernel.operands + o].buffer];
      if (buffer.kind == BufferKind::kWorkspace) runs.back().workspace = buffer.bytes;
    }
  }
  return runs;
}

// The second convolution's gradient reads what the first one makes.
Network TwoConvolutions() {
  NetworkBuilder b("two", {.n = 4, .c = 4, .h = 9, .w = 8});
  const LayerId first = b.Convolution("first", kNetworkInput, Square(8, 3, 1, 1));
  return b.Loss(b.Linear("fc", b.Convolution("second", first, Square(6, 5, 2, 2)), 4));
}

// Its result is computed again for backward.
Plan Recomputed(const PartsPlace& p, OpDecision decision) {
  Plan plan = p.Whole();
  const TensorId map = p.step.ops[Index(decision.op)].writes.at(0);
  const MapGap gap = ForwardBackwardGap(p.step, p.tables.uses, map);
  plan.gaps.push_back(
      {.tensor = map, .after = gap.after, .before = gap.before, .action = GapAction::kRecompute, .reason = ""});
  plan.ops.push_back(std::move(decision));
  return plan;
}

// Two forward ops, the first of which can be fast in a workspace: there is room for that in forward, where nothing else is
// there yet, and none in backward, where what b.backs gradient needs is large.
const char* const kShortLater = R"({"graph": "short later", "source": {"assumed": "made up"}, "error": 0.1, "nodes": [
{"id": "a", "op": "a", "ways": [{"ns": 90000}, {"ns": 20000, "workspace": 40960}, {"ns": 50000, "workspace": 10240}],
 "results": [{"id": "A", "bytes": 20480}]},
{"id": "b", "op": "b", "ns": 10000, "deps": ["A"], "results": [{"id": "B", "bytes": 20480}]},
{"id": "c", "op": "c", "ns": 10000, "deps": ["B"], "results": [{"id": "C", "bytes": 30720}]},
{"id": "c.back", "op": "c.back", "pass": "backward", "ns": 10000, "deps": ["B", "C"], "results": [{"id": "dB", "bytes": 30720}]},
{"id": "b.back", "op": "b.back", "pass": "backward", "ns": 10000, "deps": ["A", "dB"], "results": [{"id": "dA", "bytes": 512}]}]})";

struct ShortLater {
  std::shared_ptr<const RecordedStep> recorded =
      ReadRecordedStep(ParseDocument(std::string(kShortLater), "short.json"));
  Machine machine = LoadMachine("unit");
  RecordedCosts costs{machine, {}, recorded};

  Planned Best(Bytes capacity) const {
    Problem problem;
    problem.step = &recorded->step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.parameters.Set("swap", false);
    return StrategyByName("best").plan(problem);
  }
};

}  // namespace

TEST_CASE("what is recomputed runs by its own algorithm, in a workspace of its own") {
  const PartsPlace p(TwoConvolutions());
  const OpId op = p.Op("first:forward");
  const OpAgain again{.algorithm = 1, .workspace = 3000};
  const std::vector<Run> whole =
      RunsOf(p.Lowered(Recomputed(p, {.op = op, .algorithm = 2, .workspace = 9000, .again = {again}})), op);
  CHECK(whole == std::vector<Run>{{false, 2, RoundToUnit(9000)}, {true, 1, RoundToUnit(3000)}});
  // In parts the first time only.
  const Plan divided = Recomputed(p, {.op = op, .parts = {{3, 0, 0}, {1, 0, 0}}, .again = {again}});
  const Program program = p.Lowered(divided);
  CHECK(ViolationsOf(program, p.step) == "");
  CHECK(RunsOf(program, op) == std::vector<Run>{{false, 0, 0}, {false, 0, 0}, {true, 1, RoundToUnit(3000)}});
}

TEST_CASE("a workspace that is held is large enough for both") {
  const PartsPlace p(TwoConvolutions());
  const OpId op = p.Op("first:forward");
  Plan plan = Recomputed(p, {.op = op, .workspace = 1000, .again = {{.algorithm = 1, .workspace = 3000}}});
  plan.runtime.workspaces = Workspaces::kHeld;
  const Program program = p.Lowered(plan);
  CHECK(ViolationsOf(program, p.step) == "");
  CHECK(RunsOf(program, op) == std::vector<Run>{{false, 0, RoundToUnit(3000)}, {true, 1, RoundToUnit(3000)}});
}

TEST_CASE("an algorithm that would get too little workspace the second time is refused") {
  const PartsPlace p(TwoConvolutions());
  const DiceCosts costs(p.machine, 3);
  const OpId op = p.Op("first:forward");
  const Bytes wanted = costs.Menu(LaunchOf(p.step.ops[Index(op)])).back().workspace;
  REQUIRE(wanted > 0);
  const Oracle oracle(std::make_shared<const StepFacts>(p.step, costs), kGB);
  const std::int32_t algorithm = costs.Menu(LaunchOf(p.step.ops[Index(op)])).back().algorithm;
  const auto judged = [&](Bytes granted) {
    return oracle.Evaluate(Recomputed(p, {.op = op, .again = {{algorithm, granted}}}));
  };
  CHECK(judged(wanted).feasible);
  CHECK_FALSE(judged(wanted - 1).feasible);
  CHECK(judged(wanted).scope.algorithms == AlgorithmScope::kAny);
}

// A library that chooses takes less where less is free (grants_test); an algorithm by name keeps its workspace.
TEST_CASE("room for what an op wants the second time is asked for where it runs a second time") {
  const PartsPlace p(TwoConvolutions());
  const DiceCosts costs(p.machine, 3);
  const OpId op = p.Op("first:forward");
  const MenuEntry way = costs.Menu(LaunchOf(p.step.ops[Index(op)])).back();
  const Bytes most = p.tables.WorkingSet(p.tables.LargestWorkingSet()), capacity = 4 * (most + way.workspace);
  const Oracle oracle(std::make_shared<const StepFacts>(p.step, costs), capacity);
  const auto judged = [&](std::int32_t algorithm, Bytes first, Bytes again, bool recomputed) {
    const OpAgain later{.algorithm = algorithm, .workspace = again};
    Plan plan = Recomputed(p, {.op = op, .algorithm = algorithm, .workspace = first, .again = {later}});
    if (!recomputed) plan.gaps.clear();
    return oracle.Evaluate(plan).reason;
  };
  const Bytes needed = way.workspace;
  CHECK(judged(way.algorithm, needed, 2 * capacity, false) == "");
  CHECK_THAT(judged(way.algorithm, needed, 2 * capacity, true),
             Catch::StartsWith("out_of_memory: the plan needs ") && Catch::EndsWith(" at second:backward_filter"));
  CHECK(judged(way.algorithm, needed + most, needed, true) == "");
  for (const bool recomputed : {false, true}) {
    CHECK_THAT(judged(way.algorithm, 2 * capacity, needed, recomputed),
               Catch::StartsWith("working_set: first:forward needs"));
    CHECK(judged(0, 2 * capacity, 2 * capacity, recomputed) == "");
  }
}

TEST_CASE("best runs an op again in less workspace where less is left") {
  const ShortLater s;
  const Planned planned = s.Best(82 * kKiB);
  REQUIRE(planned.feasible);
  INFO(PlanToYaml(planned.plan, s.recorded->step));
  const auto first = std::find_if(planned.plan.ops.begin(), planned.plan.ops.end(),
                                  [](const OpDecision& decision) { return decision.op == 0; });
  REQUIRE(first != planned.plan.ops.end());
  CHECK(first->workspace == 40960);
  REQUIRE(first->again.size() == 1);
  CHECK(first->again.front().workspace == 10240);
}

}  // namespace spillway
