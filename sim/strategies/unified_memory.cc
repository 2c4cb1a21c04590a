// unified-memory and unified-memory-prefetch: what one gets without any of the systems here. Nothing is decided; the driver
// moves pages as kernels touch them (sim/engine/managed_memory.h), or as each is prefetched before its kernel. ooc_cuDNN's
// comparisons are against the two. On a runtime that says otherwise there is none of it.
#include "sim/plan/plan_keys.h"
#include "sim/planning/problem.h"

namespace spillway {
namespace {

Planned PlanManaged(const Problem& problem, const char* name) {
  Planned planned;
  planned.plan = StartPlan(problem, name, name);
  planned.feasible = IsManaged(planned.plan.runtime.memory);
  if (!planned.feasible) {
    planned.reason = "unified_memory: the runtime has memory: " + RuntimeWord(planned.plan.runtime, "memory");
  }
  return planned;
}

}  // namespace

Planned PlanUnifiedMemory(const Problem& problem) { return PlanManaged(problem, "unified-memory"); }

Planned PlanUnifiedMemoryPrefetch(const Problem& problem) { return PlanManaged(problem, "unified-memory-prefetch"); }

}  // namespace spillway
