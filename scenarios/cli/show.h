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
};

// ---- show floor: how little memory a step can do with.

// As text: the least memory in which a plan was found with everything on the device, with ops left whole, and with ops that
// stream in parts, and what stands in the way of less. `network`: the one that is named. Without a machine it is
// the unit machine, whose kernels want no workspace. Throws UserError for an unknown machine.
std::string ShowFloor(const ShowAsked& asked, const Network& network);

// The same of networks of the zoo, a row each; with the op that stands in the way of less in parts.
std::string ShowFloors(const ShowAsked& asked, const std::vector<std::string>& networks);

// ---- show menu: by which algorithms the convolutions of a network may run.

// As text: of each kind of convolution the algorithms that no other one beats in both workspace and time, and those that
// runs take. Throws UserError without a machine, or with an unknown one, before the network is built.
std::string ShowMenu(const ShowAsked& asked, const std::function<Network()>& build);

// ---- show shares: a batch shared out among unlike devices. Nothing of it is simulated as one step.

// As text, the devices of ShowAsked::machine (profiles, separated by commas) taken one after the other: what each takes of the
// batch, when the last one is done, and how many times as fast that is as the fastest device alone; then the same with
// gradients exchanged behind the step. Each device trains its share in core by ucudnn-wr (powers of two, 64 MiB), as
// simulated; shares are multiples of a 32nd of the batch, or whatever divides it. Throws UserError for an unknown machine.
//
// Exchange: a ring, in which each of G devices sends and receives 2 (G - 1) / G of the gradients through its host, both
// directions at once, at the pace of the slowest link; nothing of it overlaps with computing. That is assumed.
std::string ShowShares(const ShowAsked& asked, const std::function<Network(std::int64_t batch)>& build);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_H_
