// What a case says of each plan: before anything runs, of what was measured, and of what failed; and which of these rows make
// a validation fail.
//
// Tested by validate_case_test and cli_validate_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_CASE_ROWS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_CASE_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/results.h"

namespace spillway {

// Of sums in another order, after the iterations that a case trains for, where nothing amplifies it: differences between
// numbers, by the largest of them.
constexpr double kRounding = 1e-4;

// What is known of it before anything runs.
ValidationRow RowOf(const Contender& contender, const CaseSetup& setup);

void FailRow(ValidationRow& row, const Failure& failure);

// The steps' times, their moments and clocks. `seed`: of the interval's draws. REQUIRES: a measurement that did not fail.
void TakeTimes(const Measurement& measurement, std::uint64_t seed, ValidationRow& row);

// A step at a lower clock than the others is the device's doing, not a plan's or the model's. "": there was none.
std::string SlowStepsNote(const std::vector<Measurement>& measurements);

// ---- What makes a validation fail, and what is only worth a note.

struct Judgement {
  std::vector<std::string> notes, failures;
};

// Adds to the failures: a row that was not run or did not end, memory written that the plan does not have, and numbers
// that are not in-core training's. Those within `tolerance` (DeviceTraits::numerics_tolerance) are notes.
void NoteFailures(const ValidationCase& place, const ValidationRow& row, double tolerance, Judgement& judgement);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_CASE_ROWS_H_
