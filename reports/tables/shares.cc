#include "reports/tables/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reports/tables/text.h"

namespace spillway {
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

namespace {

std::string SharesText(const std::vector<SharingDevice>& devices, const Shares& shares) {
  std::string text;
  for (std::size_t g = 0; g < shares.samples.size(); ++g) {
    text += fmt::format("{}{} {}", g == 0 ? "" : ", ", devices[g].name, shares.samples[g]);
  }
  return text;
}

// Of the fastest device by itself; 0: the batch fits on none.
Nanos TimeAlone(const std::vector<SharingDevice>& devices, std::int64_t batch) {
  Nanos alone = 0;
  for (const SharingDevice& device : devices) {
    if (const auto whole = ShareOut({device.times}, batch)) {
      alone = alone == 0 ? whole->time : std::min(alone, whole->time);
    }
  }
  return alone;
}

}  // namespace

std::string SharesTable(const std::vector<SharingDevice>& devices, std::int64_t batch) {
  const Nanos alone = TimeAlone(devices, batch);
  const auto over = [alone](Nanos time) {
    return alone > 0 ? fmt::format("{:.2f}x", static_cast<double>(alone) / static_cast<double>(time)) : "-";
  };
  TextTable table({"<devices and their samples", "slowest", "over one", "exchange", "with it"});
  std::vector<std::vector<ShareTime>> times;
  for (const SharingDevice& device : devices) {
    times.push_back(device.times);
    const auto shares = ShareOut(times, batch);
    if (!shares) {
      table.Row({fmt::format("the first {}: the batch does not fit", times.size()), "", "", "", ""});
      continue;
    }
    table.Row({SharesText(devices, *shares), FormatDuration(shares->time), over(shares->time),
               FormatDuration(device.exchange), over(shares->time + device.exchange)});
  }
  return table.Text();
}

}  // namespace spillway
