// Links of a profile and their transfer curves; for machine_reader.cc. Their keys are listed in machine_keys.cc.
#ifndef SPILLWAY_HW_MACHINE_LINK_READER_H_
#define SPILLWAY_HW_MACHINE_LINK_READER_H_

#include "hw/machine/machine.h"
#include "hw/text/document.h"

namespace spillway {

// One entry of `links`. `machine` holds the hosts and devices that it may lead to. Mistakes go to the diagnostics; an
// end that is not there is -1.
Link ReadLink(const Node& node, const Machine& machine, Diagnostics& diagnostics);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_LINK_READER_H_
