// What issuing each kind of op costs, in profiles: reading and writing the entry `launches` of `host_costs`.
//
//   launches:
//     source: {measured: "..."}
//     ops:
//       - {op: convolution, pass: forward, time: 9200 ns}
#ifndef SPILLWAY_HW_MACHINE_LAUNCH_COST_TEXT_H_
#define SPILLWAY_HW_MACHINE_LAUNCH_COST_TEXT_H_

#include <string>

#include "hw/machine/machine.h"
#include "hw/text/document.h"

namespace spillway {

// Sets HostCosts::launches and launches_source. Mistakes go to the diagnostics, an op and pass that come twice among them.
// Whether the program knows the names is for the cost model to say.
void ReadLaunchCosts(const Node& node, Diagnostics& diagnostics, const std::string& owner, HostCosts& costs);
// The entry, indented by six spaces; ends with a newline. "" where there is none.
std::string LaunchCostsText(const HostCosts& costs);

}  // namespace spillway

#endif  // SPILLWAY_HW_MACHINE_LAUNCH_COST_TEXT_H_
