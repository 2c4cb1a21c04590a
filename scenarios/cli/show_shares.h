// spillway show shares: a batch shared out among unlike devices. Analytic: nothing of it is simulated as one step.
#ifndef SPILLWAY_SCENARIOS_CLI_SHOW_SHARES_H_
#define SPILLWAY_SCENARIOS_CLI_SHOW_SHARES_H_

#include <functional>
#include <string>

#include "model/network/network.h"
#include "scenarios/cli/show_asked.h"

namespace spillway {

// As text, the devices of ShowAsked::machine (profiles, separated by commas) taken one after the other: what each takes of the
// batch, when the last one is done, and how many times as fast that is as the fastest device alone; then the same with
// gradients exchanged behind the step. Each device trains its share in core by ucudnn-wr (powers of two, 64 MiB), as
// simulated; shares are multiples of a 32nd of the batch, or whatever divides it. Throws UserError for an unknown machine.
//
// Exchange: a ring, in which each of G devices sends and receives 2 (G - 1) / G of the gradients through its host, both
// directions at once, at the pace of the slowest link; nothing of it overlaps with computing. That is assumed.
std::string ShowShares(const ShowAsked& asked, const std::function<Network(std::int64_t batch)>& build);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_SHARES_H_
