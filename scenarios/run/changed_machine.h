// A machine as a scenario changes it: another link, a paced one, another connection to the host. What is changed says so in
// its source or in the machine's notes.
//
// Tested by changed_machine_test and emulate_test (tests/).
#ifndef SPILLWAY_SCENARIOS_RUN_CHANGED_MACHINE_H_
#define SPILLWAY_SCENARIOS_RUN_CHANGED_MACHINE_H_

#include <string>

#include "hw/machine/machine.h"
#include "scenarios/file/scenario.h"

namespace spillway {

// The machine with one rate for both directions of every link, latencies kept; marked as assumed. A rate that a
// scenario states is no other host's: Link::host_error is 0.
Machine WithLinkRate(Machine machine, double bytes_per_nanosecond);

// The machine with copies paced to that rate, on every link: its own times where they are longer, and no host_error.
// REQUIRES: no link is slower.
Machine WithPacedLink(Machine machine, double bytes_per_nanosecond);

// The machine as `choice` wants it: the link to its host comes first, its curves those of the memory asked for, with
// their usual host_error unless the profile states another one. REQUIRES: a choice that ReadMachines found nothing
// wrong with, or one of no more than a name.
Machine WithConnection(Machine machine, const MachineChoice& choice);

std::string RateText(double bytes_per_nanosecond);  // "8GB/s"

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_CHANGED_MACHINE_H_
