// What makes a validation fail, and what is only worth a note.
//
// Tested by cli_validate_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_FAILURES_H_
#define SPILLWAY_CALIBRATE_VALIDATE_FAILURES_H_

#include <string>
#include <vector>

#include "calibrate/validate/results.h"

namespace spillway {

struct Judgement {
  std::vector<std::string> notes, failures;
};

// Adds to the failures: a row that was not run or did not end, memory written that the plan does not have, and numbers
// that are not in-core training's. Those within `tolerance` (DeviceTraits::numerics_tolerance) are notes.
void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Judgement& judgement);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_FAILURES_H_
