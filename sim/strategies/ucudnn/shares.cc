#include "sim/strategies/ucudnn/shares.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace spillway::ucudnn {
namespace {

constexpr Nanos kNever = INT64_MAX;

struct Least {
  Nanos time = kNever;
  std::int64_t own = 0;  // of the last device
};

// By samples, of one device more.
std::vector<Least> WithOne(const std::vector<Least>& before, const std::vector<ShareTime>& device) {
  std::vector<Least> least;
  for (const Least& without : before) least.push_back({without.time, 0});
  for (std::size_t n = 0; n < least.size(); ++n) {
    for (const ShareTime& share : device) {
      if (share.samples > static_cast<std::int64_t>(n)) continue;
      const Nanos others = before[n - static_cast<std::size_t>(share.samples)].time;
      const Nanos time = std::max(others, share.time);
      if (others < kNever && time < least[n].time) least[n] = {time, share.samples};
    }
  }
  return least;
}

}  // namespace

std::optional<Shares> ShareOut(const std::vector<std::vector<ShareTime>>& devices, std::int64_t batch) {
  std::vector<std::vector<Least>> least(1, std::vector<Least>(static_cast<std::size_t>(batch) + 1));
  least[0][0].time = 0;
  for (std::vector<ShareTime> device : devices) {
    std::sort(device.begin(), device.end(),
              [](const ShareTime& a, const ShareTime& b) { return a.samples < b.samples; });
    least.push_back(WithOne(least.back(), device));
  }
  auto left = static_cast<std::size_t>(batch);
  if (least.back()[left].time == kNever) return std::nullopt;
  Shares shares{.samples = std::vector<std::int64_t>(devices.size()), .time = least.back()[left].time};
  for (std::size_t g = devices.size(); g > 0; --g) {
    shares.samples[g - 1] = least[g][left].own;
    left -= static_cast<std::size_t>(least[g][left].own);
  }
  return shares;
}

}  // namespace spillway::ucudnn
