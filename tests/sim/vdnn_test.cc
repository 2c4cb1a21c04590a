#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "hw/text/lists.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "sim/strategies/vdnn/offload.h"

namespace spillway {
namespace {

using vdnn::Offload;
using vdnn::OffloadDecisions;

struct On {
  On(const char* network, std::int64_t batch, const char* the_machine, StepOptions options = {})
      : machine(LoadMachine(the_machine)),
        step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), options)) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  On(const On&) = delete;
  Planned PlanBy(const char* name) const { return StrategyByName(name).plan(problem); }
  LayerId LayerOf(OpId op) const { return step.ops[Index(op)].layer; }
  bool IsConvolution(LayerId layer) const {
    return std::any_of(step.ops.begin(), step.ops.end(),
                       [layer](const Op& op) { return op.layer == layer && op.kind == OpKind::kConvolution; });
  }

  Machine machine;
  CostModel costs{machine};
  TrainingStep step;
  Problem problem;
};

// What runs between two of the host's waits: the ops of a layer in one phase.
int GroupOf(const TrainingStep& step, OpId op) {
  int group = 0;
  for (OpId k = 1; k <= op; ++k) {
    group += step.ops[Index(k)].layer != step.ops[Index(k - 1)].layer || k == step.first_backward ? 1 : 0;
  }
  return group;
}

}  // namespace

TEST_CASE("a layer takes the longer of its kernels and its copies") {
  for (const char* name : {"vdnn-all-m", "vdnn-conv-m"}) {
    for (const char* network : {"vgg16", "vgg16 in place", "alexnet", "overfeat", "resnet18", "googlenet"}) {
      const std::string words = network, zoo = words.substr(0, words.find(' '));
      const On on(zoo.c_str(), 4, "unit", zoo == words ? StepOptions{} : StepOptionsByName("vdnn"));
      const Plan plan = on.PlanBy(name).plan;
      const Evaluation e = Evaluate(plan, on.problem);
      INFO(name << " " << network << " " << e.reason);
      REQUIRE(e.feasible);
      std::map<int, Nanos> compute, copies;
      for (std::size_t op = 0; op < on.step.ops.size(); ++op) {
        compute[GroupOf(on.step, static_cast<OpId>(op))] += on.costs.Kernel(LaunchOf(on.step.ops[op])).time;
      }
      Nanos upload = 0, serial = 0;
      for (const GapDecision& gap : plan.gaps) {
        const Tensor& tensor = on.step.tensors[Index(gap.tensor)];
        if (tensor.Traits().on_host) upload = tensor.bytes;
        if (!tensor.Traits().on_host) copies[GroupOf(on.step, gap.after)] += tensor.bytes;
        const bool demand = GroupOf(on.step, gap.in_at) == GroupOf(on.step, gap.before);
        (demand ? serial : copies[GroupOf(on.step, gap.in_at)]) += tensor.bytes;
      }
      CHECK(serial == 0);
      Nanos step = upload;  // which the first layer waits for
      for (const auto& [group, time] : compute) step += std::max(time, copies[group]);
      CHECK(e.step_time == step);
      CHECK(step > upload + e.compute_time);  // some copies are longer
    }
  }
}

TEST_CASE("what leaves is what layers that extract features read, and comes back no earlier than a convolution ahead") {
  for (const char* network : {"vgg16", "resnet50", "googlenet"}) {
    const On on(network, 2, "unit");
    const std::vector<GapDecision> all = OffloadDecisions(on.step, Offload::kAll);
    const std::vector<GapDecision> convolutions = OffloadDecisions(on.step, Offload::kConvolutions);
    INFO(network);
    CHECK(all.size() > convolutions.size());
    CHECK(OffloadDecisions(on.step, Offload::kNone).empty());
    std::map<TensorId, int> times;
    for (const GapDecision& gap : all) {
      const std::string& tensor = on.step.tensors[Index(gap.tensor)].name;
      INFO(tensor);
      CHECK(++times[gap.tensor] == 1);
      const LayerId reader = on.LayerOf(gap.after), issued = on.LayerOf(gap.in_at);
      CHECK(on.step.ops[Index(gap.after)].kind != OpKind::kLinear);
      // Its last reader has the copy out beside it, not behind it.
      if (gap.out_after != gap.after && gap.out_after != kNoOp) CHECK(on.LayerOf(gap.out_after) != reader);
      int between = 0;
      for (LayerId layer = reader + 1; layer < issued; ++layer) between += on.IsConvolution(layer) ? 1 : 0;
      CHECK(between == 0);
    }
    for (const GapDecision& gap : convolutions) {
      const Op& reader = on.step.ops[Index(gap.after)];
      CHECK((reader.kind == OpKind::kConvolution || std::string(network) != "vgg16"));
    }
  }
}

TEST_CASE("a map with several readers leaves with the last one") {
  const On on("resnet50", 2, "unit");
  const Uses uses(on.step);
  int forks = 0;
  for (const GapDecision& gap : OffloadDecisions(on.step, Offload::kConvolutions)) {
    CHECK(uses.Next(gap.tensor, gap.after) >= on.step.first_backward);
    const std::vector<OpId>& of = uses.of[Index(gap.tensor)];
    forks += std::count_if(of.begin(), of.end(), [&](OpId op) {
               return op < on.step.first_backward && !Contains(on.step.ops[Index(op)].writes, gap.tensor);
             }) > 1;
  }
  CHECK(forks >= 16);
}

TEST_CASE("m takes the least workspaces, p the fastest algorithms") {
  const On on("alexnet", 64, "p100-x86-pcie3");
  const Plan least = on.PlanBy("vdnn-conv-m").plan, fastest = on.PlanBy("vdnn-conv-p").plan;
  REQUIRE(least.ops.size() == fastest.ops.size());
  CHECK(least.gaps == fastest.gaps);
  for (std::size_t k = 0; k < least.ops.size(); ++k) {
    CHECK(least.ops[k].workspace <= fastest.ops[k].workspace);
    const auto time = [&](const OpDecision& decision) {
      Launch launch = LaunchOf(on.step.ops[Index(decision.op)]);
      launch.algorithm = decision.algorithm;
      launch.workspace = decision.workspace;
      return on.costs.Kernel(launch).time;
    };
    CHECK(time(fastest.ops[k]) <= time(least.ops[k]));
    for (const MenuEntry& entry : on.costs.Menu(LaunchOf(on.step.ops[Index(least.ops[k].op)]))) {
      if (entry.algorithm == 0) continue;
      CHECK(entry.workspace >= least.ops[k].workspace);
      CHECK(entry.cost.time >= time(fastest.ops[k]));
    }
  }
}

TEST_CASE("with less memory dyn goes on to the next trial, and each of them fits") {
  On on("alexnet", 256, "titanx-maxwell-x86-pcie3");
  std::vector<std::string> seen;
  int refused = 0;
  for (Bytes capacity = 3 * kGB; capacity > 3 * kGB / 2; capacity -= 20 * kMB) {
    on.problem.capacity = capacity;
    const Planned planned = on.PlanBy("vdnn-dyn");
    if (!planned.feasible) {
      CHECK_THAT(planned.reason, Catch::Contains("out_of_memory") || Catch::Contains("working_set"));
      ++refused;
      continue;
    }
    CHECK(refused == 0);  // what fits in less fits in more
    const Evaluation e = Evaluate(planned.plan, on.problem);
    REQUIRE(e.feasible);
    CHECK(e.peak_bytes <= capacity);
    if (seen.empty() || seen.back() != planned.plan.search) seen.push_back(planned.plan.search);
    if (planned.plan.search.starts_with("nothing")) CHECK(e.bytes_out == 0);
  }
  CHECK(refused > 0);
  for (const std::string& words : seen) UNSCOPED_INFO(words);
  REQUIRE(seen.size() >= 5);
  CHECK(seen.front() == "nothing offloaded, the fastest algorithms");
}

TEST_CASE("without barriers the same decisions are no slower") {
  const On on("vgg16", 128, "titanx-maxwell-x86-pcie3");
  for (const char* name : {"vdnn-all-p", "vdnn-conv-p"}) {
    Plan plan = on.PlanBy(name).plan;
    CHECK(plan.runtime == RuntimeByName("vdnn"));
    const Nanos with = Evaluate(plan, on.problem).step_time;
    plan.runtime = RuntimeByName("vdnn++");
    CHECK(Evaluate(plan, on.problem).step_time < with);
  }
  CHECK(on.PlanBy("vdnn++").plan.runtime == RuntimeByName("vdnn++"));
}

}  // namespace spillway
