// What `spillway show` is asked about.
#ifndef SPILLWAY_SCENARIOS_CLI_SHOW_ASKED_H_
#define SPILLWAY_SCENARIOS_CLI_SHOW_ASKED_H_

#include <cstdint>
#include <string>

namespace spillway {

struct ShowAsked {
  std::string name;        // of the network, machine or strategy, or a file
  std::int64_t batch = 1;  // of the network
  std::string machine;     // profiles, by name or file; "" = none
};

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_SHOW_ASKED_H_
