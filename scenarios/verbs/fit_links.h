// The part of `spillway fit` that deals with links: whose copies were meant, and putting them into a profile.
#ifndef SPILLWAY_SCENARIOS_VERBS_FIT_LINKS_H_
#define SPILLWAY_SCENARIOS_VERBS_FIT_LINKS_H_

#include "calibrate/fit/profile_links.h"
#include "calibrate/sample/file.h"
#include "scenarios/verbs/command.h"

namespace spillway {

struct LinkFit {
  TransferFit transfers;
  LinkChoice choice;
};

// Fits the copies and finds those that --copies and --duplex name. UserError: no such copies, or of several devices.
LinkFit FitLinks(const Command& command, const SampleSet& set);
// Sets the links of `machine` and says so. UserError: none of its links was measured.
void ApplyLinks(const Command& command, const LinkFit& fit, Console& console, Machine* machine);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VERBS_FIT_LINKS_H_
