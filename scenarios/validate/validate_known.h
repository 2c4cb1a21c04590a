// Cases that an earlier run finished, held against those of this one: a journal that somebody changed is told before
// anything runs.
//
// Tested by cli_validate_resume_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_KNOWN_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_KNOWN_H_

#include <vector>

#include "scenarios/run/prepare.h"
#include "scenarios/validate/validate_journal.h"

namespace spillway {

// `known` has come from `journal`. Throws UserError, with the line, at the first case that is not the one of these points'
// places at its position: another scenario, network, batch, machine, limit, other strategies, or figures that are missing.
void CheckKnown(const std::vector<FinishedCase>& known, const std::vector<Point>& points,
                const ValidationJournal& journal);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_KNOWN_H_
