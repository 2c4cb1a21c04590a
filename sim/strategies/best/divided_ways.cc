#include "sim/strategies/best/divided_ways.h"

#include <algorithm>
#include <utility>

#include "model/cost/cost_model.h"
#include "model/cost/op_tiles.h"
#include "sim/strategies/ucudnn/configurations.h"

namespace spillway {

namespace {

using ucudnn::BatchPolicy;
using ucudnn::Configuration;

// Weighed by the times of the parts.
double SlowdownOf(const CostModel& costs, const Launch& whole, const Configuration& configuration, int device) {
  double alone = 0, slowed = 0;
  for (std::size_t k = 0; k < configuration.parts.size(); ++k) {
    const ucudnn::MicroKernel& part = configuration.parts[k];
    Launch launch = PartOf(whole, part.samples, k == 0);
    launch.algorithm = part.algorithm;
    launch.workspace = part.workspace;
    alone += static_cast<double>(part.time);
    slowed += static_cast<double>(part.time) * costs.Kernel(launch, device).copy_slowdown;
  }
  return alone > 0 ? slowed / alone : 1;
}

DividedWay WayOf(const Configuration& configuration) {
  DividedWay way{.workspace = configuration.workspace, .parts = {}};
  for (const ucudnn::MicroKernel& part : configuration.parts) {
    way.time += part.time;
    way.parts.push_back({.samples = part.samples, .algorithm = part.algorithm, .workspace = part.workspace});
  }
  return way;
}

}  // namespace

std::vector<DividedWay> DividedWaysOf(const CostModel& costs, const Launch& launch, Bytes limit, int device) {
  std::vector<DividedWay> ways;
  if (launch.kind != OpKind::kConvolution || launch.shape.in.n < 2) return ways;
  // Counted while it is decided whether to divide, though the host may run ahead.
  const Nanos per_kernel = costs.launch_costs(device).Of(launch.kind, launch.pass);
  const auto front = [&](BatchPolicy policy) {
    return ucudnn::ConfigurationFront(ucudnn::MicroKernelsOf(costs, launch, policy, limit, device), limit, per_kernel);
  };
  const std::vector<Configuration> divided = front(BatchPolicy::kPowersOfTwo);
  const auto in_parts = [](const Configuration& one) { return one.parts.size() > 1; };
  if (std::none_of(divided.begin(), divided.end(), in_parts)) return ways;
  const ucudnn::DrawnConfigurations draws(costs, launch, per_kernel, device);
  for (const Configuration& one : SureFront(divided, front(BatchPolicy::kUndivided), draws)) {
    if (!in_parts(one)) continue;
    ways.push_back(WayOf(one));
    ways.back().slowdown = SlowdownOf(costs, launch, one, device);
  }
  return ways;
}

}  // namespace spillway
