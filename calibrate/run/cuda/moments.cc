#include "calibrate/run/cuda/moments.h"

#include <algorithm>
#include <vector>

namespace spillway {

CudaMoment Between(std::span<const CudaMoment> from, std::span<const CudaMoment> to) {
  std::vector<CudaMoment> all;
  for (std::size_t m = 0; m < std::min(from.size(), to.size()); ++m) {
    const CudaMoment between{.cycles = to[m].cycles - from[m].cycles,
                             .nanoseconds = to[m].nanoseconds - from[m].nanoseconds};
    if (from[m].nanoseconds > 0 && between.nanoseconds > 0 && between.cycles > 0) all.push_back(between);
  }
  if (all.empty()) return {};
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const CudaMoment& a, const CudaMoment& b) { return Megahertz(a) < Megahertz(b); });
  return *middle;
}

}  // namespace spillway
