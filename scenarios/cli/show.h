// spillway show: what it answers of networks as text, where an answer takes planning.
//
// Tested by cli_show_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_SHOW_H_
#define SPILLWAY_SCENARIOS_CLI_SHOW_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/network/network.h"

namespace spillway {

// What `spillway show` is asked about.
struct ShowAsked {
  std::string name;        // of the network, machine or strategy, or a file
  std::int64_t batch = 1;  // of the network
  std::string machine;     // profiles, by name or file; "" = none
  std::string other{};     // a second recording; "" = none
  std::string memory{};    // of a card, with its unit; "" = none
  std::string page{};      // file for the picture of a step; "" = none
};

// ---- show floor: how little memory a step can do with.

// The least memory in which a plan was found with everything on the device, with whole ops, and with ops that stream in
// parts, and the op that stands in the way of less. `network`: the one that is named. Without a machine it is planned
// for the unit machine, whose kernels want no workspace. Throws UserError for an unknown machine.
std::string ShowFloor(const ShowAsked& asked, const Network& network);

// A row for each of these networks of the zoo.
std::string ShowFloors(const ShowAsked& asked, const std::vector<std::string>& networks);

// ---- show menu: by which algorithms the convolutions of a network may run.

// Lists for each kind of convolution the algorithms that no other one beats in both workspace and time, and those that
// runs take. Throws UserError without a machine, or with an unknown one, before the network is built.
std::string ShowMenu(const ShowAsked& asked, const std::function<Network()>& build);

// ---- show shares: a batch shared out among unlike devices. Nothing of it is simulated as one step.

// Shares the batch out among the first device of ShowAsked::machine (profiles, separated by commas), the first two, and
// so on. Prints each device's share, the end of the last device, and the speed-up over the fastest device alone; then
// the same with gradients exchanged after the step. Each device trains its share in core by ucudnn-wr
// (powers of two, 64 MiB), as simulated. Shares are multiples of a 32nd of the batch, or whatever divides it. Throws
// UserError for an unknown machine.
//
// The exchange is assumed to be a ring. Each of G devices sends and receives 2 (G - 1) / G of the gradients through its
// host, both directions at once, at the pace of the slowest link. Nothing of it overlaps with computing.
std::string ShowShares(const ShowAsked& asked, const std::function<Network(std::int64_t batch)>& build);

// ---- show step: whether a recorded step fits, and what binds.

// The peak and the least of the recording ShowAsked::name, by class and by module, and its largest tensors there. With
// `memory` or `machine`, whether it fits on that card; with `machine` how fast it is there (step_on_machine.h); with `other`,
// the same step at another batch, the largest batch there. Throws UserError for mistakes of the recordings, and for two of
// one batch.
std::string ShowStep(const ShowAsked& asked);
// Its memory over the calls, as a page (reports/html/memory_page.h).
std::string StepPage(const ShowAsked& asked);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_H_
