// Which of a plan's launches a library would refuse: a device carries them out as they stand or not at all.
#ifndef SPILLWAY_SIM_EVALUATE_UNSUPPORTED_LAUNCH_H_
#define SPILLWAY_SIM_EVALUATE_UNSUPPORTED_LAUNCH_H_

#include <string>

#include "sim/plan/plan.h"
#include "sim/program/step_tables.h"

namespace spillway {

// Token plus details of the first: "workspace", an algorithm is granted less than it wants, or "algorithm", the profile has
// no time of it. Empty where all of them run. REQUIRES: the plan was checked against the tables' step (CheckPlan).
std::string UnsupportedLaunch(const Plan& plan, const StepTables& tables, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_UNSUPPORTED_LAUNCH_H_
