// Sorts the results of a validation into failures and notes.
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

// Adds to the failures: a row that did not run or did not end, writes to memory beyond the plan's, and numerical
// results that differ from in-core training's. Differences within `tolerance` (DeviceTraits::numerics_tolerance) become
// notes.
void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Judgement& judgement);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_FAILURES_H_
