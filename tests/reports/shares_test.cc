// A batch shared out among unlike devices, against every way to do it.
#include "reports/tables/shares.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "model/util/random.h"

namespace spillway {
namespace {

using Devices = std::vector<std::vector<ShareTime>>;

// The least time of all, -1 if none.
Nanos LeastOfAll(const Devices& devices, std::int64_t batch, std::size_t from = 0) {
  if (from == devices.size()) return batch == 0 ? 0 : -1;
  Nanos least = LeastOfAll(devices, batch, from + 1);
  for (const ShareTime& share : devices[from]) {
    if (share.samples > batch) continue;
    const Nanos rest = LeastOfAll(devices, batch - share.samples, from + 1);
    if (rest < 0) continue;
    const Nanos time = std::max(rest, share.time);
    if (least < 0 || time < least) least = time;
  }
  return least;
}

}  // namespace

TEST_CASE("devices of speeds 3, 2 and 1 share a batch by their speeds") {
  Devices devices(3);
  for (std::int64_t samples = 1; samples <= 12; ++samples) {
    for (const std::int64_t slowness : {2, 3, 6}) {
      devices[slowness == 2 ? 0 : slowness == 3 ? 1 : 2].push_back({samples, slowness * samples});
    }
  }
  const auto shares = ShareOut(devices, 12);
  REQUIRE(shares.has_value());
  CHECK(shares->samples == std::vector<std::int64_t>{6, 4, 2});
  CHECK(shares->time == 12);  // the fastest alone takes 24
  // One that is slower than all by itself gets nothing.
  devices[2] = {{1, 100}};
  CHECK(ShareOut(devices, 12)->samples == std::vector<std::int64_t>{7, 5, 0});
}

TEST_CASE("shares are as good as the best of all ways to share a batch") {
  Random random(5);
  int shared = 0, none = 0;
  for (int k = 0; k < 3000; ++k) {
    Devices devices(static_cast<std::size_t>(random.Between(1, 4)));
    const std::int64_t batch = random.Between(1, 10);
    for (auto& device : devices) {
      for (std::int64_t samples = 1; samples <= batch; ++samples) {
        if (random.Below(2) == 0) device.push_back({samples, random.Between(1, 20)});  // not monotone, not all
      }
    }
    const Nanos least = LeastOfAll(devices, batch);
    const std::optional<Shares> shares = ShareOut(devices, batch);
    REQUIRE(shares.has_value() == (least >= 0));
    if (!shares) {
      ++none;
      continue;
    }
    CHECK(shares->time == least);
    CHECK(std::accumulate(shares->samples.begin(), shares->samples.end(), std::int64_t{0}) == batch);
    Nanos slowest = 0;
    for (std::size_t g = 0; g < devices.size(); ++g) {
      const auto own = std::find_if(devices[g].begin(), devices[g].end(),
                                    [&](const ShareTime& share) { return share.samples == shares->samples[g]; });
      if (shares->samples[g] > 0) REQUIRE(own != devices[g].end());
      if (shares->samples[g] > 0) slowest = std::max(slowest, own->time);
    }
    CHECK(slowest == shares->time);
    shared +=
        std::count(shares->samples.begin(), shares->samples.end(), 0) + 1 < static_cast<std::ptrdiff_t>(devices.size())
            ? 1
            : 0;
  }
  CHECK(shared > 500);
  CHECK(none > 100);
}

}  // namespace spillway
