// Memory by module: rows that sum up to the footprint at every call, and names cut to as many parts as are few enough.
#include "model/recorded/module_memory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/recorded_text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

std::shared_ptr<const RecordedStep> Read(const std::string& text) {
  return ReadRecordedStep(ParseDocument(text, "step.json"));
}

// Forward calls that make 512 bytes each, all of them read at the end; modules in order.
std::shared_ptr<const RecordedStep> Modules(const std::vector<std::string>& modules) {
  Json nodes = Json::array(), all = Json::array();
  for (std::size_t k = 0; k < modules.size(); ++k) {
    const std::string id = "f" + std::to_string(k);
    nodes.push_back({{"id", id},
                     {"op", "f"},
                     {"module", modules[k]},
                     {"ns", 1},
                     {"deps", {"x"}},
                     {"results", {{{"id", id + ".y"}, {"bytes", 512}}}}});
    all.push_back(id + ".y");
  }
  nodes.push_back({{"id", "b"},
                   {"op", "b"},
                   {"module", modules[0]},
                   {"pass", "backward"},
                   {"ns", 1},
                   {"deps", all},
                   {"results", Json::array()}});
  return Read(Json{
      {"graph", "g"},
      {"samples", 1},
      {"source", {{"assumed", "test"}}},
      {"error", 0.1},
      {"values", {{{"id", "x"}, {"bytes", 512}}}},
      {"nodes",
       nodes}}.dump());
}

std::vector<std::string> NamesOf(const ModuleMemory& memory) {
  std::vector<std::string> names;
  for (const ModuleMemory::Row& row : memory.rows) names.push_back(row.module);
  return names;
}

ModuleMemory MemoryOf(const RecordedStep& recorded) { return MemoryByModule(recorded, FootprintOf(recorded).peak); }

TEST_CASE("the rows sum up to the footprint at every call") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto recorded = Read(RecordedText(seed).Draw());
    const Footprint footprint = FootprintOf(*recorded);
    const ModuleMemory memory = MemoryByModule(*recorded, footprint.peak);
    REQUIRE(memory.rows.size() <= kMostModules);
    for (std::size_t op = 0; op < footprint.in_core.size(); ++op) {
      Bytes sum = 0;
      for (const ModuleMemory::Row& row : memory.rows) {
        REQUIRE(row.bytes[op] >= 0);
        sum += row.bytes[op];
      }
      REQUIRE(sum == footprint.in_core[op]);
    }
  }
}

TEST_CASE("names have as many parts as leave few enough of them at the peak") {
  const auto few = MemoryOf(*Modules({"a.0.conv", "a.0.norm", "a.1.conv", "b"}));
  CHECK(NamesOf(few) == std::vector<std::string>{"a.0.conv", "a.0.norm", "a.1.conv", "b"});
  std::vector<std::string> many;
  for (int block = 0; block < 4; ++block) {
    for (int layer = 0; layer < 4; ++layer) many.push_back("a." + std::to_string(block) + "." + std::to_string(layer));
  }
  // Two blocks of four fit apart, beside two whole ones; the whole ones are larger than any layer.
  const std::vector<std::string> names = NamesOf(MemoryOf(*Modules(many)));
  REQUIRE(names.size() == 10);
  CHECK(std::vector<std::string>(names.begin(), names.begin() + 2) == std::vector<std::string>{"a.2", "a.3"});
  for (std::size_t k = 2; k < names.size(); ++k) CHECK(std::count(names[k].begin(), names[k].end(), '.') == 2);
}

TEST_CASE("modules that are too many by their first parts: the smallest are one row, the last") {
  std::vector<std::string> many;
  for (int k = 0; k < 20; ++k) many.push_back("m" + std::to_string(k));
  const ModuleMemory memory = MemoryOf(*Modules(many));
  REQUIRE(memory.rows.size() == kMostModules);
  CHECK(memory.rows.back().summed == 9);
  CHECK(memory.rows.back().bytes.back() == 9 * 512);
  CHECK(memory.rows.front().summed == 0);
}

}  // namespace
}  // namespace spillway
