// Any text is either refused with UserError or becomes a plan that survives being written and read again, and that
// lowers to a Program which `verify` accepts: what users may write by hand can be slow, but never wrong.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>

#include "hw/text/lists.h"
#include "model/cost/cost_model.h"
#include "model/cost/op_tiles.h"
#include "model/network/network.h"
#include "model/profile/machine.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/parts.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "tests/fuzz/fuzz.h"
#include "tests/random_groups.h"

namespace {

using namespace spillway;

// ResNet-18 on small images, on the unit machine.
struct Setting {
  Network network = BuildZooNetwork("resnet18", {.batch = 2, .image = 32});
  TrainingStep step = BuildTrainingStep(network);
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};

  Problem ProblemWith(Bytes capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.simulation_cap = 20;
    return problem;
  }
};

const Setting& TheSetting() {
  static const Setting setting;
  return setting;
}

// Every convolution sample by sample, copies in pieces.
std::string InParts(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  plan.runtime.copy_chunk = kLeastCopyChunk;
  plan.runtime.part_waits = PartWaits::kHost;
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    if (step.ops[op].kind == OpKind::kConvolution) {
      plan.ops.push_back({.op = static_cast<OpId>(op), .parts = {{1, 0, 0}, {1, 1, kMiB}}});
    }
  }
  return PlanToYaml(plan, step);
}

// Every other op that may stream does, sample by sample and where it can in two tiles of rows, what it reads and does not
// write.
std::string Streamed(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); op += 2) {
    const Op& o = step.ops[static_cast<std::size_t>(op)];
    OpDecision decision{.op = op, .parts = {{1, 0, kMiB}, {1, 0, kMiB}}, .streamed = {}, .depth = 1 + op % 4};
    if (MostRanges(LaunchOf(o)).rows > 1) decision.tiles.rows = 2;
    for (const TensorId t : o.reads) {
      const bool may = MayStream(step.tensors[static_cast<std::size_t>(t)]) && !Contains(o.writes, t);
      if (may && !Contains(decision.streamed, t)) decision.streamed.push_back(t);
    }
    if (HasSampleParts(o) && !decision.streamed.empty()) plan.ops.push_back(std::move(decision));
  }
  SwapWhereStreamed(step, Uses(step), "streamed", plan);
  return PlanToYaml(plan, step);
}

// Groups of up to five ops that run sample by sample together, all over the step, with swaps and recomputations beside.
std::string Fused(const TrainingStep& step, std::uint64_t seed) {
  Random random(seed);
  Plan plan = RandomPlan(step, {}, 30, random);
  AddRandomGroups(step, 80, random, plan);
  if (FusedOps(plan) < 10) std::abort();
  return PlanToYaml(plan, step);
}

}  // namespace

// What every strategy decides, with room for everything and with less than that.
std::vector<std::string> spillway::fuzz::Seeds() {
  const Setting& setting = TheSetting();
  std::vector<std::string> seeds;
  for (Bytes capacity : {1000 * kMB, 95 * kMB}) {
    for (const Strategy& strategy : Strategies()) {
      Planned planned = strategy.plan(setting.ProblemWith(capacity));
      if (planned.feasible) seeds.push_back(PlanToYaml(planned.plan, setting.step));
    }
  }
  seeds.push_back(InParts(setting.step));
  seeds.push_back(Streamed(setting.step));
  for (const std::uint64_t seed : {1, 2}) seeds.push_back(Fused(setting.step, seed));
  return seeds;
}

namespace {

// Ops that run by themselves instead of with the one before, or the other way round; other tiles; other parts of all.
void PerturbOps(Plan& plan, std::mt19937_64& random) {
  const auto depth = static_cast<OpId>(1 + random() % 4);
  const bool deeper = random() % 4 == 0, merge = random() % 4 == 0;
  for (OpDecision& decision : plan.ops) {
    if (decision.streamed.empty()) continue;
    if (random() % 8 == 0) decision.fused = !decision.fused;
    if (deeper) decision.depth = depth;
    if (!merge || decision.parts.size() < 2) continue;
    decision.parts[0].samples += decision.parts[1].samples;
    decision.parts.erase(decision.parts.begin() + 1);
  }
}

// Other decisions of the same shape: copies at other times, actions exchanged, gaps left out, another runtime.
void Perturb(Plan& plan, std::mt19937_64& random) {
  const auto below = [&random](OpId limit) {
    return static_cast<OpId>(random() % static_cast<std::uint64_t>(std::max(limit, 1)));
  };
  plan.runtime = RuntimeTable()[random() % RuntimeTable().size()].runtime;
  PerturbOps(plan, random);
  std::vector<GapDecision> gaps;
  for (GapDecision gap : plan.gaps) {
    const OpId length = gap.before - gap.after;
    switch (random() % 8) {
      case 0:
        continue;
      case 1:
        gap.action = gap.action == GapAction::kSwap ? GapAction::kRecompute : GapAction::kSwap;
        gap.out_after = gap.after;
        gap.in_at = gap.before;
        break;
      case 2:
        gap.keep_result = !gap.keep_result;
        gap.keep_passed = random() % 2 == 0;
        break;
      case 3:
        gap.in_at = gap.before - below(length);
        break;
      case 4:
        gap.out_after = std::max(gap.after - below(3), 0);
        break;
      case 5:
        gap.leaves_after = gap.after + below(length);
        gap.in_at = gap.action == GapAction::kSwap ? gap.before : gap.in_at;
        break;
      default:
        break;
    }
    gaps.push_back(gap);
  }
  if (gaps.size() > 1) std::swap(gaps[random() % gaps.size()], gaps[random() % gaps.size()]);
  plan.gaps = std::move(gaps);
  for (Recomputation& entry : plan.recompute) {
    if (random() % 4 == 0) entry.leaves_after = entry.keep ? entry.before + below(20) : kNoOp;
  }
}

// REQUIRES: the plan has been accepted.
void RoundTripAndEvaluate(const Plan& plan, Bytes capacity) {
  const Setting& setting = TheSetting();
  if (ParsePlan(PlanToYaml(plan, setting.step), "written.yaml", setting.step) != plan) std::abort();
  EvaluateOptions options;
  options.bounds = false;
  options.timeline = false;
  Evaluate(plan, setting.ProblemWith(capacity), options);  // throws if the Program is unsafe
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const TrainingStep& step = TheSetting().step;
  Plan plan;
  try {
    plan = ParsePlan(fuzz::Text(data, size), "fuzz.yaml", step);
  } catch (const UserError&) {
    return 0;
  }
  RoundTripAndEvaluate(plan, kGB);
  std::mt19937_64 random(size);
  for (int i = 0; i < 16; ++i) {
    Plan other = plan;
    Perturb(other, random);
    try {
      other = ParsePlan(PlanToYaml(other, step), "fuzz.yaml", step);
    } catch (const UserError&) {
      continue;
    }
    RoundTripAndEvaluate(other, i % 2 == 0 ? kGB : 95 * kMB);
  }
  return 0;
}
