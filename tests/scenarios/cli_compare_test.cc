// spillway compare: two machines with a folder, two plans of one place.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

const std::string kPlace =
    "name: place\nnetwork: {zoo: cifar-resnet20, batch: 64}\nmachines: v100-x86-pcie3\nmemory: 60 MB\n"
    "strategies: [swap-all, recompute-all]\n";

// What would help by another link is asked by compare alone.
nlohmann::json WithoutLinks(const std::string& results) {
  nlohmann::json document = nlohmann::json::parse(results);
  for (nlohmann::json& place : document.at("what_helps")) {
    place = {place.at("point"), place.at("more_bytes"), place.at("memory_step_time_s"),
             place.at("memory_lower_bound_s")};
  }
  return document;
}

TEST_CASE("compare leaves the same files as run, and what would help by other links") {
  const TemporaryFolder folder("compare");
  const std::string file = folder.Write("s.yaml", kPlace);
  const std::string machines = "v100-x86-pcie3,v100-power9-nvlink2";
  const Outcome outcome = Spillway({"compare", file, "--machines", machines, "--out", folder.Path("o")});
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  REQUIRE(Spillway({"run", file, "--machines", machines, "--out", folder.Path("r")}).status == kExitDone);
  CHECK(folder.Read("o/results.csv") == folder.Read("r/results.csv"));
  CHECK(WithoutLinks(folder.Read("o/results.json")) == WithoutLinks(folder.Read("r/results.json")));
  CHECK(std::filesystem::exists(folder.Path("o/report.html")));
  const auto helps = nlohmann::json::parse(folder.Read("o/results.json")).at("what_helps");
  CHECK(helps.size() == 2);
  CHECK(helps.at(0).at("faster_link").get<double>() == Approx(1.125 * helps.at(0).at("link").get<double>()));
}

TEST_CASE("two plans are compared in one table, with the maps that differ") {
  const TemporaryFolder folder("plans");
  const std::string file = folder.Write("s.yaml", kPlace);
  for (const char* strategy : {"swap-all", "recompute-all"}) {
    REQUIRE(
        Spillway({"plan", file, "--strategy", strategy, "-o", folder.Path(std::string(strategy) + ".yaml")}).status ==
        kExitDone);
  }
  const Outcome both =
      Spillway({"compare", file, "--plan", folder.Path("swap-all.yaml"), "--plan", folder.Path("recompute-all.yaml")});
  INFO(both.err);
  REQUIRE(both.status == kExitDone);
  CHECK(Contains(both.out, "swap-all (swap-all.yaml)  recompute-all (recompute-all.yaml)  difference"));
  CHECK(Contains(both.out, " feature maps differ, "));
  CHECK(Contains(both.out, "swap "));
  const Outcome same =
      Spillway({"compare", file, "--plan", folder.Path("swap-all.yaml"), "--plan", folder.Path("swap-all.yaml")});
  CHECK(Contains(same.out, "both plans decide the same about all "));
  CHECK(Contains(same.out, "0 ms"));
}

TEST_CASE("one plan is held against the best of the strategies") {
  const TemporaryFolder folder("original");
  const std::string file = folder.Write("s.yaml", kPlace);
  REQUIRE(Spillway({"plan", file, "--strategy", "swap-all", "-o", folder.Path("mine.yaml")}).status == kExitDone);
  const Outcome outcome = Spillway({"compare", file, "--plan", folder.Path("mine.yaml")});
  INFO(outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(Contains(outcome.out, "swap-all (mine.yaml)"));
  CHECK(Spillway({"compare", file, "--plan", "a", "--plan", "b", "--plan", "c"}).status == kExitWrongInput);
}

}  // namespace
}  // namespace spillway
