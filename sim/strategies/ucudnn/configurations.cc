#include "sim/strategies/ucudnn/configurations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace spillway::ucudnn {
namespace {

constexpr Nanos kNever = INT64_MAX / 4;  // two of them can be added

// The least time for some samples and, of those, the fewest parts; `part`: the samples of one of them.
struct Least {
  Nanos time = kNever;
  std::int32_t parts = 0;
  std::int32_t part = 0;

  void Offer(Nanos offered, std::int32_t offered_parts, std::size_t offered_part) {
    if (offered > time || (offered == time && offered_parts >= parts)) return;
    *this = {offered, offered_parts, static_cast<std::int32_t>(offered_part)};
  }
};

// The fastest of a desirable set within the limit.
const MicroKernel* Best(const std::vector<MicroKernel>& set, Bytes limit) {
  const auto past = std::partition_point(set.begin(), set.end(),
                                         [limit](const MicroKernel& kernel) { return kernel.workspace <= limit; });
  return past == set.begin() ? nullptr : &*std::prev(past);
}

// By samples; kNever where none is within the limit.
std::vector<Nanos> BestTimes(const std::vector<std::vector<MicroKernel>>& sets, Bytes limit, Nanos per_kernel) {
  std::vector<Nanos> times(sets.size(), kNever);
  for (std::size_t samples = 1; samples < sets.size(); ++samples) {
    if (const MicroKernel* best = Best(sets[samples], limit)) times[samples] = best->time + per_kernel;
  }
  return times;
}

// The samples that can be run at once, ascending.
std::vector<std::size_t> Runnable(const std::vector<Nanos>& times) {
  std::vector<std::size_t> sizes;
  for (std::size_t samples = 1; samples < times.size(); ++samples) {
    if (times[samples] < kNever) sizes.push_back(samples);
  }
  return sizes;
}

// By samples: T of the head of configurations.h.
std::vector<Least> LeastTimes(const std::vector<Nanos>& best) {
  const std::vector<std::size_t> sizes = Runnable(best);
  std::vector<Least> least(best.size());
  least[0].time = 0;
  for (std::size_t b = 1; b < best.size(); ++b) {
    if (best[b] < kNever) least[b].Offer(best[b], 1, b);
    for (const std::size_t s : sizes) {
      if (2 * s > b) break;
      const Least& rest = least[b - s];
      if (rest.time < kNever) least[b].Offer(best[s] + rest.time, rest.parts + 1, s);
    }
  }
  return least;
}

// What is left when the first part has its samples.
Least WithFirst(const std::vector<Nanos>& first, const std::vector<Least>& others) {
  const std::size_t batch = others.size() - 1;
  Least least;
  for (std::size_t s = batch; s > 0; --s) {
    const Least& rest = others[batch - s];
    if (first[s] < kNever && rest.time < kNever) least.Offer(first[s] + rest.time, rest.parts + 1, s);
  }
  return least;
}

// The times alone, which is what most limits are asked for.
Nanos FastestTime(const MicroKernels& kernels, Bytes limit, Nanos per_kernel) {
  return WithFirst(BestTimes(kernels.first, limit, per_kernel), LeastTimes(BestTimes(kernels.other, limit, per_kernel)))
      .time;
}

// Every limit at which something may change, ascending.
std::vector<Bytes> Limits(const MicroKernels& kernels, Bytes limit) {
  std::vector<Bytes> limits;
  for (const auto* sets : {&kernels.first, &kernels.other}) {
    for (const std::vector<MicroKernel>& set : *sets) {
      for (const MicroKernel& kernel : set) limits.push_back(kernel.workspace);
    }
  }
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  limits.erase(std::upper_bound(limits.begin(), limits.end(), limit), limits.end());
  return limits;
}

// The limits of (low, high] under which it gets faster, ascending. REQUIRES: the times of both are known.
struct Front {
  const MicroKernels& kernels;
  const std::vector<Bytes>& limits;
  Nanos per_kernel;
  std::vector<Bytes> found{};

  void Search(std::size_t low, Nanos at_low, std::size_t high, Nanos at_high) {
    if (at_low == at_high) return;
    if (high == low + 1) {
      found.push_back(limits[high]);
      return;
    }
    const std::size_t middle = low + (high - low) / 2;
    const Nanos at_middle = FastestTime(kernels, limits[middle], per_kernel);
    Search(low, at_low, middle, at_middle);
    Search(middle, at_middle, high, at_high);
  }
};

}  // namespace

std::optional<Configuration> FastestConfiguration(const MicroKernels& kernels, Bytes limit, Nanos per_kernel) {
  const std::vector<Least> others = LeastTimes(BestTimes(kernels.other, limit, per_kernel));
  const Least fastest = WithFirst(BestTimes(kernels.first, limit, per_kernel), others);
  if (fastest.time >= kNever) return std::nullopt;
  Configuration configuration{.time = fastest.time};
  const auto add = [&](const std::vector<std::vector<MicroKernel>>& sets, std::int32_t samples) {
    configuration.parts.push_back(*Best(sets[Index(samples)], limit));
    configuration.workspace = std::max(configuration.workspace, configuration.parts.back().workspace);
  };
  add(kernels.first, fastest.part);
  for (std::size_t left = others.size() - 1 - Index(fastest.part); left > 0;) {
    add(kernels.other, others[left].part);
    left -= Index(others[left].part);
  }
  std::stable_sort(configuration.parts.begin() + 1, configuration.parts.end(),
                   [](const MicroKernel& a, const MicroKernel& b) { return a.samples > b.samples; });
  return configuration;
}

std::vector<Configuration> ConfigurationFront(const MicroKernels& kernels, Bytes limit, Nanos per_kernel) {
  const std::vector<Bytes> limits = Limits(kernels, limit);
  if (limits.empty()) return {};
  const Nanos at_least = FastestTime(kernels, limits.front(), per_kernel);
  Front front{kernels, limits, per_kernel};
  if (at_least < kNever) front.found.push_back(limits.front());
  front.Search(0, at_least, limits.size() - 1, FastestTime(kernels, limits.back(), per_kernel));
  std::vector<Configuration> configurations;
  for (const Bytes at : front.found) configurations.push_back(*FastestConfiguration(kernels, at, per_kernel));
  return configurations;
}

}  // namespace spillway::ucudnn
