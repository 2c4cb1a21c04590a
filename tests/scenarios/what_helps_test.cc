// What would help: the same as running the scenario with more memory and behind another link.
#include "scenarios/run/what_helps.h"

#include <catch2/catch.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/text.h"

namespace spillway {
namespace {

std::string Place(const std::string& more) {
  return "name: place\nnetwork: {zoo: cifar-resnet20, batch: 64}\nmachines: v100-x86-pcie3\n" + more;
}

PreparedRun Prepared(const std::string& more) {
  PreparedRun run;
  Prepare(ReadScenario(ParseDocument(Place(more), "s.yaml")), {}, run);
  return run;
}

std::vector<ResultRow> RowsOf(const PreparedRun& run) {
  std::vector<ResultRow> rows;
  RunPoints(run, 1, [&](const Point&, PointResult& result) { rows.push_back(result.row); });
  return rows;
}

std::vector<WhatHelps> HelpsOf(const PreparedRun& run, const std::function<bool()>& stop = nullptr) {
  std::ostringstream out, err;
  Console console{out, err};
  return FindWhatHelps(run, RowsOf(run), 2, console, stop);
}

const std::string kStrategies = "strategies: [swap-all, swap-opt, recompute-all]\n";

TEST_CASE("what would help is what the scenario with more memory or another link says of the fastest strategy") {
  const PreparedRun run = Prepared("usable_memory: 64 MB\nlink: 4 GB/s\n" + kStrategies);
  const std::vector<WhatHelps> places = HelpsOf(run);
  REQUIRE(places.size() == 1);
  const WhatHelps& place = places[0];
  CHECK(place.more == 8'000'000);
  CHECK(place.even_rate == Approx(4).epsilon(1e-3));
  CHECK(place.even.step == place.row.step_time);  // the link is even already
  const std::string only = "strategies: " + place.row.strategy + "\n";
  const ResultRow more = RowsOf(Prepared("usable_memory: 72 MB\nlink: 4 GB/s\n" + only)).at(0);
  CHECK(place.memory.step == more.step_time);
  CHECK(place.memory.bound == more.lower_bound);
  const ResultRow faster = RowsOf(Prepared("usable_memory: 64 MB\nlink: 4.5 GB/s\n" + only)).at(0);
  CHECK(static_cast<double>(place.faster.step) == Approx(static_cast<double>(faster.step_time)).epsilon(1e-3));
  CHECK(place.faster.bound <= place.even.bound);
}

TEST_CASE("the rate from which on copies are free is one at which swap-all takes a hundredth longer at most") {
  const PreparedRun run = Prepared("usable_memory: 64 MB\n" + kStrategies);
  const std::vector<WhatHelps> places = HelpsOf(run);
  REQUIRE(places.size() == 1);
  const double rate = places[0].free_from;
  REQUIRE(rate > 1);
  const auto step = [](double at) {
    const std::string link = "link: " + std::to_string(at) + " GB/s\nstrategies: swap-all\nusable_memory: 64 MB\n";
    return static_cast<double>(RowsOf(Prepared(link)).at(0).step_time);
  };
  CHECK(step(rate) <= 1.0101 * step(1024));
  CHECK(step(rate / 1.2) > 1.0099 * step(1024));
}

TEST_CASE("of places where nothing runs, and of plans for another machine, nothing would help") {
  CHECK(HelpsOf(Prepared("usable_memory: 1 MB\n" + kStrategies)).empty());
  CHECK(HelpsOf(Prepared("strategies: [{strategy: swap-all, planned_on: v100-power9-nvlink2}]\n")).empty());
  CHECK(HelpsOf(Prepared(kStrategies), [] { return true; }).empty());
}

TEST_CASE("the table of what would help: differences for each gigabyte, and who no longer runs") {
  WhatHelps place;
  place.row.network = "net";
  place.row.machine = "box";
  place.row.strategy = "best";
  place.row.batch = 7;
  place.row.step_time = 2'000'000'000;
  place.row.lower_bound = 1'900'000'000;
  place.more = 2 * kGB;
  place.memory = {1'800'000'000, 1'880'000'000};
  place.even_rate = 8;
  place.faster_rate = 9;
  place.even = {2'010'000'000, 1'900'000'000};
  const std::string text = WhatHelpsTable({place});
  INFO(text);
  CHECK(Contains(text, "10.0 %  1e+02     10"));
  CHECK(Contains(text, "does not run"));
  CHECK(WhatHelpsTable({}).empty());
}

}  // namespace
}  // namespace spillway
