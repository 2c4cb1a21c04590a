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

#include <string>
#include <vector>

#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/strategies/shared/convolution_ways.h"
#include "sim/strategies/vdnn/offload.h"

namespace spillway {
namespace {

using vdnn::Offload;

Plan PlanOf(const Problem& problem, const char* strategy, const char* runtime, Offload offload,
            std::vector<OpDecision> algorithms) {
  Plan plan = StartPlan(problem, strategy, runtime);
  plan.gaps = OffloadDecisions(*problem.step, offload);
  plan.ops = std::move(algorithms);
  return plan;
}

Planned Static(const Problem& problem, const char* strategy, Offload offload, Ways mode) {
  Planned planned;
  planned.feasible = true;
  planned.plan = PlanOf(problem, strategy, "vdnn", offload, Algorithms(ChoosablesOf(problem), mode));
  return planned;
}

// The ordered trials of vDNN_dyn.
struct Trial {
  Offload offload;
  Ways mode;
  bool soft;
  const char* words;
};
constexpr Trial kTrials[] = {
    {Offload::kNone, Ways::kFastest, false, "nothing offloaded, the fastest algorithms"},
    {Offload::kConvolutions, Ways::kFastest, false, "inputs of convolutions offloaded, the fastest algorithms"},
    {Offload::kAll, Ways::kFastest, false, "all inputs offloaded, the fastest algorithms"},
    {Offload::kConvolutions, Ways::kLeastWorkspace, true,
     "inputs of convolutions offloaded, the fastest algorithms that fit"},
    {Offload::kAll, Ways::kLeastWorkspace, true, "all inputs offloaded, the fastest algorithms that fit"},
    {Offload::kConvolutions, Ways::kLeastWorkspace, false, "inputs of convolutions offloaded, the least workspaces"},
    {Offload::kAll, Ways::kLeastWorkspace, false, "all inputs offloaded, the least workspaces"},
};

Planned Dynamic(const Problem& problem, const char* strategy, const char* runtime) {
  const std::vector<Choosable> convolutions = ChoosablesOf(problem);
  const Oracle oracle = OracleOf(problem);
  constexpr EvaluateOptions kQuick{.verify = false, .bounds = false, .timeline = false};
  Planned planned;
  const Plan least = PlanOf(problem, strategy, runtime, Offload::kAll, Algorithms(convolutions, Ways::kLeastWorkspace));
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
  return Static(problem, "vdnn-all-m", Offload::kAll, Ways::kLeastWorkspace);
}
Planned PlanVdnnAllPerformance(const Problem& problem) {
  return Static(problem, "vdnn-all-p", Offload::kAll, Ways::kFastest);
}
Planned PlanVdnnConvMemory(const Problem& problem) {
  return Static(problem, "vdnn-conv-m", Offload::kConvolutions, Ways::kLeastWorkspace);
}
Planned PlanVdnnConvPerformance(const Problem& problem) {
  return Static(problem, "vdnn-conv-p", Offload::kConvolutions, Ways::kFastest);
}
Planned PlanVdnnDynamic(const Problem& problem) { return Dynamic(problem, "vdnn-dyn", "vdnn"); }
Planned PlanVdnnPlusPlus(const Problem& problem) { return Dynamic(problem, "vdnn++", "vdnn++"); }

}  // namespace spillway
