// What the page and Perfetto show of a case that was measured: of each strategy's plan both timelines, and its ops.
//
// Tested by cli_validate_partial_test and cli_validate_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_OBSERVED_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_OBSERVED_H_

#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/journal.h"
#include "scenarios/validate/validate_places.h"

namespace spillway {

// Texts of timelines/POINT.trace.json (reports/trace/trace.h) and ops/POINT.csv (reports/trace/validation_ops.h), of the points that
// were measured. The trace shows of the steps with instruments the one of the median time; its lower_bound_ns is 0 where
// the bound was proven under other costs than `costs`, those that the rows are held to.
std::vector<ObservedTexts> ObservedOf(const Place& place, const CaseSetup& setup, const CostModel& costs,
                                      const CaseResult& found);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_OBSERVED_H_
