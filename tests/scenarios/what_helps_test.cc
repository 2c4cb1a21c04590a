// What would help: the same as running the scenario with more memory and behind another link.
#include <catch2/catch.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "scenarios/run/run.h"
#include "tests/text.h"

namespace spillway {
namespace {

std::string Place(const std::string& more, const std::string& batch) {
  return "name: place\nnetwork: {zoo: cifar-resnet20, batch: " + batch + "}\nmachines: v100-x86-pcie3\n" + more;
}

PreparedRun Prepared(const std::string& more, const std::string& batch = "64") {
  PreparedRun run;
  Prepare(ReadScenario(ParseDocument(Place(more, batch), "s.yaml")), {}, run);
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
  return FindWhatHelps(run, RowsOf(run), {}, 2, console, stop);
}

const std::string kStrategies = "strategies: [swap-all, swap-opt, recompute-all]\n";

TEST_CASE("what would help is what the scenario with more memory or another link says of the fastest strategy") {
  const PreparedRun run = Prepared("usable_memory: 64 MB\nlink: 4 GB/s\n" + kStrategies);
  const std::vector<WhatHelps> places = HelpsOf(run);
  REQUIRE(places.size() == 1);
  const WhatHelps& place = places[0];
  const ResultRow row = RowsOf(run).at(place.row);
  CHECK(place.more == 16'000'000);
  CHECK(place.even_rate == Approx(4).epsilon(1e-3));
  CHECK(place.even.step == row.times.step);  // the link is even already
  const std::string only = "strategies: " + row.strategy + "\n";
  const ResultRow more = RowsOf(Prepared("usable_memory: 80 MB\nlink: 4 GB/s\n" + only)).at(0);
  CHECK(place.memory.step == more.times.step);
  CHECK(place.memory.bound == more.bounds.lower);
  const ResultRow faster = RowsOf(Prepared("usable_memory: 64 MB\nlink: 4.5 GB/s\n" + only)).at(0);
  CHECK(static_cast<double>(place.faster.step) == Approx(static_cast<double>(faster.times.step)).epsilon(1e-3));
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
    return static_cast<double>(RowsOf(Prepared(link)).at(0).times.step);
  };
  CHECK(step(rate) <= 1.0101 * step(1024));
  CHECK(step(rate / 1.2) > 1.0099 * step(1024));
}

TEST_CASE("of many places the largest batches of each limit are asked about, and links only where that is wanted") {
  const PreparedRun run = Prepared("memory: [40 MB, 60 MB]\nstrategies: [swap-all, recompute-all]\n", "[16, 32, 64]");
  const std::vector<ResultRow> rows = RowsOf(run);
  std::ostringstream out, err;
  Console console{out, err};
  std::vector<std::pair<Bytes, std::int64_t>> asked;
  for (const WhatHelps& place : FindWhatHelps(run, rows, {.links = false, .places = 3}, 2, console)) {
    const ResultRow& row = rows[place.row];
    asked.emplace_back(row.memory_limit, row.batch);
    CHECK_FALSE(place.links);
    CHECK(place.more == row.memory_limit / 4);
    CHECK(place.memory.step > 0);
    CHECK(place.memory.step <= row.times.step);
  }
  CHECK(asked == std::vector<std::pair<Bytes, std::int64_t>>{{40'000'000, 32}, {40'000'000, 64}, {60'000'000, 64}});
}

TEST_CASE("cards are asked about 4 GB more") {
  CHECK(MoreMemory(8 * kGB) == 4 * kGB);
  CHECK(MoreMemory(4 * kGB) == kGB);
}

TEST_CASE("of places where nothing runs, and of plans for another machine, nothing would help") {
  CHECK(HelpsOf(Prepared("usable_memory: 1 MB\n" + kStrategies)).empty());
  CHECK(HelpsOf(Prepared("strategies: [{strategy: swap-all, planned_on: v100-power9-nvlink2}]\n")).empty());
  CHECK(HelpsOf(Prepared(kStrategies), [] { return true; }).empty());
}

TEST_CASE("the table of what would help: differences for each gigabyte, and who no longer runs") {
  ResultSet results;
  ResultRow& row = results.rows.emplace_back();
  row.network = "net";
  row.machine = "box";
  row.strategy = "best";
  row.batch = 7;
  row.times.step = 2'000'000'000;
  row.bounds.lower = 1'900'000'000;
  CHECK(WhatHelpsTable(results.helps, results.rows).empty());
  WhatHelps& place = results.helps.emplace_back();
  place.links = true;
  place.more = 2 * kGB;
  place.memory = {1'800'000'000, 1'880'000'000};
  place.even_rate = 8;
  place.faster_rate = 9;
  place.even = {2'010'000'000, 1'900'000'000};
  const std::string text = WhatHelpsTable(results.helps, results.rows);
  INFO(text);
  CHECK(Contains(text, "11.1 %  1e+02     10"));
  CHECK(Contains(text, "does not run"));
}

}  // namespace
}  // namespace spillway
