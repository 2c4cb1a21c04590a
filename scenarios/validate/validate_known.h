// The cases that an earlier run of a validation finished, for `--resume`.
//
// Tested by cli_validate_resume_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_KNOWN_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_KNOWN_H_

#include <vector>

#include "calibrate/validate/journal.h"
#include "scenarios/run/prepare.h"

namespace spillway {

// Cases that an earlier run finished, held against those of this one: a journal that somebody changed is told before
// anything runs. Throws UserError, with the line, at the first that is not the one of these points' places at its position:
// another scenario, network, batch, machine, limit, other strategies, or figures that are missing.
void CheckKnown(const std::vector<FinishedCase>& known, const std::vector<Point>& points,
                const ValidationJournal& journal);

// Rows of a plan that was given, by the name that its file has now. REQUIRES: checked.
void NameByFile(const std::vector<Point>& points, std::vector<FinishedCase>& known);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_KNOWN_H_
