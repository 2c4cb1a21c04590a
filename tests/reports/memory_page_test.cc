// The picture of a recorded step: its data are the rows of `show step`, and the largest call of each stretch is shown.
#include "reports/html/memory_page.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "model/recorded/module_memory.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

// A chain of so many forward calls of 1024 bytes, which one backward call reads.
std::shared_ptr<const RecordedStep> Chain(int calls) {
  Json nodes = Json::array(), all = Json::array();
  for (int k = 0; k < calls; ++k) {
    const std::string id = "f" + std::to_string(k);
    nodes.push_back({{"id", id},
                     {"op", "f"},
                     {"module", "m" + std::to_string(k % 3)},
                     {"ns", 1},
                     {"deps", {"x"}},
                     {"results", {{{"id", id + ".y"}, {"bytes", 1024 * (k + 1)}}}}});
    if (k % 2 == 0) all.push_back(id + ".y");
  }
  nodes.push_back(
      {{"id", "b"}, {"op", "b"}, {"pass", "backward"}, {"ns", 1}, {"deps", all}, {"results", Json::array()}});
  const Json step = {{"graph", "g"},  {"format", "spillway-step"},
                     {"version", 2},  {"device", {{"type", "cpu"}, {"name", "</script>"}}},
                     {"samples", 2},  {"source", {{"assumed", "test"}}},
                     {"error", 0.1},  {"values", {{{"id", "x"}, {"bytes", 512}}}},
                     {"nodes", nodes}};
  return ReadRecordedStep(ParseDocument(step.dump(), "step.json"));
}

TEST_CASE("the picture's data are the footprint and the rows by module") {
  const auto recorded = Chain(9);
  const Footprint footprint = FootprintOf(*recorded);
  const Json memory = Json::parse(MemoryJson(*recorded, 5000));
  CHECK(memory["format"] == "spillway-memory");
  CHECK(memory["version"] == 1);
  CHECK(memory["calls"] == 10);
  CHECK(memory["limit_bytes"] == 5000);
  CHECK(memory["peak"]["bytes"] == footprint.PeakBytes());
  CHECK(memory["peak"]["call"] == footprint.peak);
  REQUIRE(memory["at"].size() == 10);
  for (std::size_t k = 0; k < 10; ++k) {
    Bytes sum = 0;
    for (const Json& row : memory["rows"]) sum += row["bytes"][k].get<Bytes>();
    CHECK(sum == footprint.in_core[k]);
  }
  REQUIRE(memory["largest"].size() == 5);
  CHECK(memory["largest"][0]["tensor"] == "f8.y");
  CHECK(memory["largest"][0]["module"] == "m2");
  CHECK(memory["largest"][0]["first"] == 8);
  CHECK(memory["largest"][0]["last"] == 9);
  CHECK(Json::parse(MemoryJson(*recorded, 0))["limit_bytes"].is_null());
}

TEST_CASE("of a long step the picture shows the largest call of each stretch, the peak among them") {
  const auto recorded = Chain(3000);
  const Footprint footprint = FootprintOf(*recorded);
  const Json memory = Json::parse(MemoryJson(*recorded, 0));
  CHECK(memory["at"].size() == kMostShownCalls);
  const auto at = memory["at"].get<std::vector<OpId>>();
  CHECK(std::is_sorted(at.begin(), at.end()));
  CHECK(std::find(at.begin(), at.end(), footprint.peak) != at.end());
}

TEST_CASE("the page holds its data alone, and no name in it is markup") {
  const std::string page = MemoryPage(*Chain(3), 0);
  CHECK(Contains(page, "data-file=\"memory.json\""));
  CHECK_FALSE(Contains(page, "\"</script>\""));
}

}  // namespace
}  // namespace spillway
