#include "sim/planning/problem.h"

#include <memory>

namespace spillway {

Oracle OracleOf(const Problem& problem) {
  return Oracle(std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device), problem.capacity);
}

Evaluation Evaluate(const Plan& plan, const Problem& problem, const EvaluateOptions& options) {
  return OracleOf(problem).Evaluate(plan, options);
}

}  // namespace spillway
