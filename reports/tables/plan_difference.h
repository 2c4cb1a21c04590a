// Two plans of one step beside each other: what they cost, and about which feature maps they decide differently.
//
// Tested by cli_compare_test.
#ifndef SPILLWAY_REPORTS_TABLES_PLAN_DIFFERENCE_H_
#define SPILLWAY_REPORTS_TABLES_PLAN_DIFFERENCE_H_

#include <string>

#include "model/cost/cost_model.h"
#include "reports/rows/result_row.h"
#include "sim/plan/plan.h"

namespace spillway {

struct PlanSide {
  const ResultRow& row;
  const Plan& plan;          // of a feasible row
  const TrainingStep& step;  // that the plan is of
};

// A table with a column for each side and the difference, then the maps that differ, the largest first: how large they
// are, what either does with them, what one copy out and in takes, what computing them again does. Steps of different
// batch parts have different maps: then it says so in their place.
std::string PlanDifference(const PlanSide& a, const PlanSide& b, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TABLES_PLAN_DIFFERENCE_H_
