#include "sim/planning/problem.h"

#include <memory>

#include "sim/plan/runtime.h"

namespace spillway {

const Runtime& Problem::RuntimeOr(const char* own) const { return use_runtime ? runtime : RuntimeByName(own); }

Problem Problem::OnRuntimeOr(const char* own) const {
  Problem problem = *this;
  problem.runtime = RuntimeOr(own);
  problem.use_runtime = true;
  return problem;
}

Plan StartPlan(const Problem& problem, const char* strategy, const char* runtime) {
  Plan plan;
  plan.strategy = strategy + problem.parameters.Label();
  plan.network = problem.step->network;
  plan.batch = problem.step->batch;
  plan.accumulate = problem.step->parts;
  plan.machine = problem.costs->machine().name;
  plan.capacity = problem.capacity;
  plan.runtime = problem.RuntimeOr(runtime);
  return plan;
}

Oracle OracleOf(const Problem& problem) {
  return Oracle(std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device, problem.capacity),
                problem.capacity);
}

Evaluation Evaluate(const Plan& plan, const Problem& problem, const EvaluateOptions& options) {
  return OracleOf(problem).Evaluate(plan, options);
}

}  // namespace spillway
