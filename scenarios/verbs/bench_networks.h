// Networks whose launches `calibrate` measures, from the words of the command line.
#ifndef SPILLWAY_SCENARIOS_VERBS_BENCH_NETWORKS_H_
#define SPILLWAY_SCENARIOS_VERBS_BENCH_NETWORKS_H_

#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/plan.h"

namespace spillway {

using BenchNetworks = std::vector<std::shared_ptr<const BenchNetwork>>;

// "NAME", "NAME:BATCH", "network.yaml:BATCH", or a scenario, whose networks are meant. Throws UserError with all mistakes.
BenchNetworks BenchNetworksOf(const std::vector<std::string>& words);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VERBS_BENCH_NETWORKS_H_
