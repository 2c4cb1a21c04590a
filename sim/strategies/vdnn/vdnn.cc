// vdnn-all-m, vdnn-all-p, vdnn-conv-m, vdnn-conv-p, vdnn-dyn, vdnn++: vDNN (Rhu et al., MICRO 2016, arXiv 1602.08124) and
// its successor without barriers (Shriram, Garg and Kulkarni, Dynamic Memory Management for GPU-Based Training of Deep
// Neural Networks, IPDPS 2019). m: every convolution runs by the algorithm of the least workspace; p: by the fastest.
//
// NVIDIA never released vDNN. This is the paper's description where two independent implementations agree with it
// (shriramsb/vDNN, james98kr/vDNN_Implementation), and shriramsb/vdnn-plus-plus, its authors' code.
//
// dyn tries in this order, and takes the first that fits: all (m), without which nothing fits; none (p); conv (p); all (p);
// conv and then all, each convolution by the fastest algorithm whose workspace the bytes left at that point hold; conv (m);
// all (m). (The paper profiles conv (p) and all (p) and takes the faster; the code does not.)
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "model/cost/menu.h"
#include "sim/evaluate.h"
#include "sim/strategies/classify.h"
#include "sim/strategies/vdnn/offload.h"

namespace spillway {
namespace {

using vdnn::Offload;

// A convolution and the ways to run it by name that no other one beats in both workspace and time, the fastest first.
struct Choosable {
  OpId op = kNoOp;
  std::vector<MenuEntry> ways;
};

std::vector<Choosable> ChoosablesOf(const Problem& problem) {
  std::vector<Choosable> all;
  std::vector<Launch> launches;
  for (std::size_t op = 0; op < problem.step->ops.size(); ++op) {
    const Op& o = problem.step->ops[op];
    if (!HasAlgorithms(o.kind)) continue;
    const Launch launch = LaunchOf(o);
    const auto known = std::find(launches.begin(), launches.end(), launch) - launches.begin();
    launches.push_back(launch);
    if (known + 1 < static_cast<std::ptrdiff_t>(launches.size())) {
      all.push_back({static_cast<OpId>(op), all[static_cast<std::size_t>(known)].ways});
      continue;
    }
    std::vector<MenuEntry> menu = problem.costs->Menu(launch, problem.device);
    std::erase_if(menu, [](const MenuEntry& entry) { return entry.algorithm == 0; });
    all.push_back({static_cast<OpId>(op), menu.empty() ? menu : ParetoSet(std::move(menu))});
  }
  return all;
}

enum class Mode { kMemory, kPerformance };

// Where nothing can be asked for by name the library decides.
std::vector<OpDecision> Algorithms(const std::vector<Choosable>& convolutions, Mode mode) {
  std::vector<OpDecision> decisions;
  for (const Choosable& one : convolutions) {
    if (one.ways.empty()) continue;
    const MenuEntry& way = mode == Mode::kMemory ? one.ways.back() : one.ways.front();
    decisions.push_back({.op = one.op, .algorithm = way.algorithm, .workspace = way.workspace});
  }
  return decisions;
}

// `plan` has the algorithms of the least workspace: what it leaves free at each convolution may go to a faster one.
void UpgradeWithin(const Problem& problem, const StepTables& tables, const std::vector<Choosable>& convolutions,
                   Plan& plan) {
  const std::vector<Bytes> live = Lower(plan, tables, 0).live_at;
  auto decision = plan.ops.begin();
  for (const Choosable& one : convolutions) {
    if (one.ways.empty()) continue;
    const Bytes own = decision->workspace > 0 ? RoundToUnit(decision->workspace) : 0;
    const Bytes left = problem.capacity - (live[Index(one.op)] - own);
    const auto way = std::find_if(one.ways.begin(), one.ways.end(), [left](const MenuEntry& entry) {
      return entry.workspace == 0 || RoundToUnit(entry.workspace) <= left;
    });
    if (way != one.ways.end()) *decision = {.op = one.op, .algorithm = way->algorithm, .workspace = way->workspace};
    ++decision;
  }
}

Plan PlanOf(const Problem& problem, const char* strategy, const char* runtime, Offload offload,
            std::vector<OpDecision> algorithms) {
  Plan plan = StartPlan(problem, strategy, runtime);
  plan.gaps = OffloadDecisions(*problem.step, offload);
  plan.ops = std::move(algorithms);
  return plan;
}

Planned Static(const Problem& problem, const char* strategy, Offload offload, Mode mode) {
  Planned planned;
  planned.feasible = true;
  planned.plan = PlanOf(problem, strategy, "vdnn", offload, Algorithms(ChoosablesOf(problem), mode));
  return planned;
}

// The ordered trials of vDNN_dyn.
struct Trial {
  Offload offload;
  Mode mode;
  bool soft;
  const char* words;
};
constexpr Trial kTrials[] = {
    {Offload::kNone, Mode::kPerformance, false, "nothing offloaded, the fastest algorithms"},
    {Offload::kConvolutions, Mode::kPerformance, false, "inputs of convolutions offloaded, the fastest algorithms"},
    {Offload::kAll, Mode::kPerformance, false, "all inputs offloaded, the fastest algorithms"},
    {Offload::kConvolutions, Mode::kMemory, true, "inputs of convolutions offloaded, the fastest algorithms that fit"},
    {Offload::kAll, Mode::kMemory, true, "all inputs offloaded, the fastest algorithms that fit"},
    {Offload::kConvolutions, Mode::kMemory, false, "inputs of convolutions offloaded, the least workspaces"},
    {Offload::kAll, Mode::kMemory, false, "all inputs offloaded, the least workspaces"},
};

Planned Dynamic(const Problem& problem, const char* strategy, const char* runtime) {
  const std::vector<Choosable> convolutions = ChoosablesOf(problem);
  const Oracle oracle(problem);
  constexpr EvaluateOptions kQuick{.verify = false, .bounds = false, .timeline = false};
  Planned planned;
  const Plan least = PlanOf(problem, strategy, runtime, Offload::kAll, Algorithms(convolutions, Mode::kMemory));
  const Evaluation at_all = oracle.Evaluate(least, kQuick);
  std::int64_t evaluations = 1;
  planned.reason = at_all.reason;
  if (!at_all.feasible) return planned;
  for (const Trial& trial : kTrials) {
    Plan plan = PlanOf(problem, strategy, runtime, trial.offload, Algorithms(convolutions, trial.mode));
    if (trial.soft) UpgradeWithin(problem, oracle.facts().tables(), convolutions, plan);
    plan.evaluations = ++evaluations;
    plan.search = trial.words;
    if (!oracle.Evaluate(plan, kQuick).feasible) continue;
    planned.feasible = true;
    planned.plan = std::move(plan);
    break;
  }
  return planned;
}

}  // namespace

Planned PlanVdnnAllMemory(const Problem& problem) {
  return Static(problem, "vdnn-all-m", Offload::kAll, Mode::kMemory);
}
Planned PlanVdnnAllPerformance(const Problem& problem) {
  return Static(problem, "vdnn-all-p", Offload::kAll, Mode::kPerformance);
}
Planned PlanVdnnConvMemory(const Problem& problem) {
  return Static(problem, "vdnn-conv-m", Offload::kConvolutions, Mode::kMemory);
}
Planned PlanVdnnConvPerformance(const Problem& problem) {
  return Static(problem, "vdnn-conv-p", Offload::kConvolutions, Mode::kPerformance);
}
Planned PlanVdnnDynamic(const Problem& problem) { return Dynamic(problem, "vdnn-dyn", "vdnn"); }
Planned PlanVdnnPlusPlus(const Problem& problem) { return Dynamic(problem, "vdnn++", "vdnn++"); }

}  // namespace spillway
