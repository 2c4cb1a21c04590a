// What makes a validation fail, and what is only worth a note.
//
// Tested by cli_validate_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_FAILURES_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_FAILURES_H_

#include "scenarios/validate/validate.h"

namespace spillway {

// Adds to the failures: a row that was not run or did not end, memory written that the plan does not have, and numbers
// that are not in-core training's. Those within `tolerance` (ValidateHost::numerics_tolerance) are notes.
void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Validated& result);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_FAILURES_H_
