#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "model/cost/op_tiles.h"
#include "model/stats/deviates.h"
#include "sim/strategies/ucudnn/configurations.h"
#include "sim/uncertainty/drawn_error.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway::ucudnn {
namespace {

Launch LaunchOfPart(const Launch& whole, const MicroKernel& part, bool first) {
  Launch launch = PartOf(whole, part.samples, first);
  launch.algorithm = part.algorithm;
  launch.workspace = part.workspace;
  return launch;
}

// The fastest within `limit`; those without parts cannot run.
const Configuration* Within(const std::vector<Configuration>& undivided, Bytes limit) {
  const Configuration* fastest = nullptr;
  for (const Configuration& one : undivided) {
    if (!one.parts.empty() && one.workspace <= limit) fastest = &one;
  }
  return fastest;
}

}  // namespace

std::vector<Nanos> DrawnConfigurations::Times(const Configuration& configuration) const {
  const DrawOptions options;
  std::vector<Nanos> times(static_cast<std::size_t>(options.draws), 0);
  const std::vector<MicroKernel>& parts = configuration.parts;
  for (std::size_t k = 0; k < parts.size();) {
    // Behind the first one, those that are alike stand together.
    std::size_t end = k + 1;
    while (k > 0 && end < parts.size() && parts[end] == parts[k]) ++end;
    const Errors errors = ErrorsOfKernel(costs_, LaunchOfPart(launch_, parts[k], k == 0), options.seed, device_);
    for (std::uint32_t draw = 0; draw < times.size(); ++draw) {
      const auto deviate = [draw](std::uint64_t key) { return StratifiedDeviate(key, draw); };
      const double factor = errors.Drawn(deviate).Factor();
      const Nanos each = std::llround(static_cast<double>(parts[k].time) * factor) + per_kernel_;
      times[draw] += static_cast<Nanos>(end - k) * each;
    }
    k = end;
  }
  return times;
}

bool DrawnConfigurations::PaysForSure(const Configuration& divided, const Configuration& undivided) const {
  return divided.parts.size() < 2 || SurelyFaster(Times(divided), Times(undivided));
}

std::optional<Configuration> FastestSure(const std::vector<Configuration>& front,
                                         const std::vector<Configuration>& undivided,
                                         const DrawnConfigurations& draws) {
  if (undivided.empty()) return front.empty() ? std::nullopt : std::optional(front.back());
  const Configuration& whole = undivided.back();
  for (auto one = front.rbegin(); one != front.rend() && one->time < whole.time; ++one) {
    if (draws.PaysForSure(*one, whole)) return *one;
  }
  return whole;
}

std::vector<Configuration> SureFront(const std::vector<Configuration>& front,
                                     const std::vector<Configuration>& undivided, const DrawnConfigurations& draws) {
  std::vector<Configuration> all = undivided;
  for (const Configuration& one : front) {
    const Configuration* whole = Within(undivided, one.workspace);
    if (whole == nullptr || draws.PaysForSure(one, *whole)) all.push_back(one);
  }
  std::stable_sort(all.begin(), all.end(), [](const Configuration& a, const Configuration& b) {
    return a.workspace != b.workspace ? a.workspace < b.workspace : a.time < b.time;
  });
  std::vector<Configuration> best;
  for (Configuration& one : all) {
    if (best.empty() || one.time < best.back().time) best.push_back(std::move(one));
  }
  return best;
}

}  // namespace spillway::ucudnn
