// Networks whose launches are measured, from words of the command line.
//
// Tested by cli_calibrate_test (tests/).
#ifndef SPILLWAY_SCENARIOS_FILE_BENCH_NETWORKS_H_
#define SPILLWAY_SCENARIOS_FILE_BENCH_NETWORKS_H_

#include <string>
#include <vector>

#include "calibrate/devices/backend.h"

namespace spillway {

// "NAME", "NAME:BATCH", "network.yaml:BATCH", or a scenario, whose networks are meant. Throws UserError with all mistakes.
BenchNetworks BenchNetworksOf(const std::vector<std::string>& words);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_BENCH_NETWORKS_H_
