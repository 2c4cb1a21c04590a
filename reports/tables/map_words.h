// What several reports say of a feature map in the same words and figures.
//
// Tested by the reports that say it: trace_test, cli_compare_test.
#ifndef SPILLWAY_REPORTS_TABLES_MAP_WORDS_H_
#define SPILLWAY_REPORTS_TABLES_MAP_WORDS_H_

#include <optional>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"

namespace spillway {

// The class of a map by what is done in its gap (MapActions): keep where nothing is.
inline const char* GapClassName(const std::optional<GapAction>& action) {
  if (!action) return "keep";
  return *action == GapAction::kSwap ? "swap" : "recompute";
}

// Time of the forward kernels that write the map, nothing else on the device.
inline Nanos ComputedAgain(const TrainingStep& step, const Uses& uses, TensorId map, const CostModel& costs) {
  Nanos again = 0;
  for (const OpId op : uses.writers[Index(map)]) again += costs.Kernel(LaunchOf(step.ops[Index(op)])).time;
  return again;
}

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_MAP_WORDS_H_
