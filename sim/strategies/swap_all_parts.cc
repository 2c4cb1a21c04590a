// Swap-all beyond single layers: ops that do not fit into memory by themselves run in streamed parts.
#include "sim/strategies/streaming.h"

namespace spillway {

Planned PlanSwapAllParts(const Problem& problem) {
  const auto facts = std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device);
  return FitByStreaming(problem, facts, "swap-all-parts", MayDivide::kWhatDoesNotFit);
}

}  // namespace spillway
