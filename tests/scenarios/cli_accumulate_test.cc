// The strategy accumulate from the command line: its rows, plans and dumps, and what cannot be cut into parts.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

// cifar-vgg at batch 64 needs 103 MB in-core.
std::string Small(const std::string& strategies, const std::string& batch = "64") {
  return "name: parts\nnetwork: {zoo: cifar-vgg, batch: " + batch +
         "}\nmachines: v100-x86-pcie3\nmemory: 80 MB\nstrategies: " + strategies + "\n";
}

nlohmann::json Rows(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "json"});
  const Outcome outcome = Spillway(words);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  return nlohmann::json::parse(outcome.out)["results"];
}

}  // namespace

TEST_CASE("rows say in how many parts they run, what that changes, and what their bound is of") {
  const TemporaryFolder folder("accumulate");
  const std::string strategies =
      "[in-core, swap-all, {strategy: accumulate, parameters: {parts: [1, 2, 4]}}, accumulate, "
      "{strategy: accumulate, parameters: {parts: 2, beneath: [swap-all, pooch]}}]";
  const std::string file = folder.Write("s.yaml", Small(strategies));
  const nlohmann::json rows = Rows({"run", file});
  REQUIRE(rows.size() == 8);
  CHECK(rows[0]["feasible"] == 0);
  CHECK(rows[1]["accumulate"] == 1);
  CHECK(rows[1]["numbers"] == "same");
  CHECK(rows[2]["feasible"] == 0);
  CHECK(rows[3]["strategy"] == "accumulate:parts=2");
  CHECK(rows[3]["accumulate"] == 2);
  CHECK(rows[3]["numbers"] == "redrawn");
  CHECK(rows[3]["batch"] == 64);
  CHECK(rows[3]["bound_scope"] == "the library's algorithms as usual, 2 copy streams, the step in 2 batch parts");
  CHECK(rows[5]["step_time_s"] == std::min(rows[3]["step_time_s"], rows[4]["step_time_s"]));
  CHECK(rows[6]["strategy"] == "accumulate:parts=2:beneath=swap-all");
  CHECK(rows[6]["parameters"]["beneath"] == "swap-all");
  CHECK(rows[6]["swap"] > 0);
  for (std::size_t k = 3; k < rows.size(); ++k) {
    const double step = rows[k]["step_time_s"], bound = rows[k]["lower_bound_s"], widest = rows[k]["widest_bound_s"];
    CHECK(rows[k]["samples_per_second"] == Approx(64 / step).epsilon(1e-3));
    CHECK(widest <= bound);
    CHECK(bound <= step);
    CHECK(rows[k]["peak_bytes"] <= 80000000);
    CHECK(rows[k]["beaten_by"] == "");
  }
  const std::string table = Spillway({"run", file}).out;
  CHECK(Contains(table,
                 "\naccumulate:parts=2 at batch 64: 2 parts of 32 samples; not the results of the whole batch: "
                 "dropout draws other masks\n"));
}

TEST_CASE("an odd batch runs in two parts, as a row, a plan file and with a message of both sizes") {
  const TemporaryFolder folder("accumulate-odd");
  const std::string file = folder.Write("s.yaml", Small("accumulate", "[60, 61, 62]"));
  const nlohmann::json rows = Rows({"run", file});
  REQUIRE(rows.size() == 3);
  for (const nlohmann::json& row : rows) CHECK(row["accumulate"] == 2);
  CHECK(rows[0]["step_time_s"] <= rows[1]["step_time_s"]);
  CHECK(rows[1]["step_time_s"] <= rows[2]["step_time_s"]);
  CHECK(Contains(Spillway({"run", file}).out, "\naccumulate at batch 61: 2 parts of 31 or 30 samples; "));
  const std::string plan = folder.Path("p.yaml");
  REQUIRE(Spillway({"plan", file, "--batch", "61", "-o", plan}).status == 0);
  const nlohmann::json again = Rows({"run", file, "--batch", "61", "--plan", plan});
  CHECK(again[0]["step_time_s"] == rows[1]["step_time_s"]);
  CHECK(Spillway({"certify", file, "--plan", plan}).status == 0);
}

TEST_CASE("batch norm over parts is said to change the numbers") {
  const TemporaryFolder folder("accumulate-norm");
  const std::string file = folder.Write("s.yaml",
                                        "name: norm\nnetwork: {zoo: cifar-resnet20, batch: 16}\nmachines: unit\n"
                                        "strategies: {strategy: accumulate, parameters: {parts: 2}}\n");
  CHECK(Rows({"run", file})[0]["numbers"] == "changed");
  const std::string line =
      "accumulate:parts=2 at batch 16: 2 parts of 8 samples; not the results of the whole batch: batch norm uses the "
      "statistics of a part\n";
  CHECK(Contains(Spillway({"run", file}).out, "\n" + line));
  const std::string both =
      folder.Write("both.yaml",
                   "name: norm\nnetwork: {zoo: cifar-resnet20, batch: 16}\nmachines: [unit, v100-x86-pcie3]\n"
                   "strategies: [in-core, {strategy: accumulate, parameters: {parts: 2}}]\n");
  const std::string compared = Spillway({"compare", both}).out;
  CHECK(Contains(compared, "\nunit: " + line));
  CHECK(Contains(compared, "\nv100-x86-pcie3: " + line));
}

TEST_CASE("a plan in parts is written, read, carried out and dumped") {
  const TemporaryFolder folder("accumulate-plan");
  const std::string file =
      folder.Write("s.yaml", Small("{strategy: accumulate, parameters: {parts: 2, beneath: swap-all}}"));
  const std::string plan = folder.Path("p.yaml");
  REQUIRE(Spillway({"plan", file, "-o", plan}).status == 0);
  CHECK(Contains(folder.Read("p.yaml"), "\naccumulate: 2\n"));
  const nlohmann::json chosen = Rows({"run", file}), again = Rows({"run", file, "--plan", plan});
  REQUIRE(again.size() == 1);
  CHECK(again[0]["strategy"] == "accumulate:parts=2:beneath=swap-all (p.yaml)");
  for (const char* column : {"step_time_s", "peak_bytes", "swap", "accumulate", "numbers", "lower_bound_s"}) {
    INFO(column);
    CHECK(again[0][column] == chosen[0][column]);
  }
  const auto dumped = [&](const std::string& topic, const std::vector<std::string>& more) {
    std::vector<std::string> words{"dump", topic, file};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(Spillway(words).out);
  };
  CHECK(dumped("plan", {})["accumulate"] == 2);
  CHECK(dumped("plan", {}) == dumped("plan", {"--plan", plan}));
  const nlohmann::json step = dumped("step", {"--plan", plan});
  CHECK(step["accumulate"] == 2);
  CHECK(step["batch"] == 64);
  CHECK(2 * step["ops"].size() > 3 * dumped("step", {})["ops"].size());
  CHECK(Contains(dumped("program", {}).dump(), "conv1_1:forward:part2"));
  // The whole run, into a folder, with its timeline.
  CHECK(Spillway({"run", file, "--out", folder.Path("out")}).status == 0);
}

TEST_CASE("a batch that is not cut so is a mistake, told with its place and each once") {
  const TemporaryFolder folder("accumulate-mistakes");
  const std::string file =
      folder.Write("s.yaml", Small("[in-core, {strategy: accumulate, parameters: {parts: [2, 3, 128]}}]", "[64, 96]"));
  const Outcome outcome = Spillway({"run", file});
  CHECK(outcome.status == 2);
  CHECK(Contains(outcome.err, file + ":5:23: error: accumulate: parts: expected at most the 64 samples of the batch, "
                                     "found 128"));
  CHECK(Contains(outcome.err, "at most the 96 samples of the batch, found 128"));
  CHECK_FALSE(Contains(outcome.err, "found 3"));

  const auto complaint = [&](const std::string& parameters) {
    return Spillway({"run", folder.Write("b.yaml", Small("{strategy: accumulate, parameters: " + parameters + "}"))})
        .err;
  };
  CHECK(Contains(complaint("{beneath: poch}"), "unknown beneath 'poch'; did you mean 'pooch'?"));
  CHECK(Contains(complaint("{beneath: accumulate}"), "unknown beneath 'accumulate'"));
  CHECK(Contains(complaint("{beneath: [pooch, pooch]}"), "beneath: 'pooch' is listed twice"));
  CHECK(Contains(complaint("{parts: 0}"), "parts: expected a whole number from 1 to"));

  const std::string plan =
      folder.Write("p.yaml", "network: cifar-vgg\nbatch: 64\naccumulate: 65\nmachine: v100-x86-pcie3\n");
  const Outcome given = Spillway({"run", folder.Write("c.yaml", Small("in-core")), "--plan", plan});
  CHECK(given.status == 2);
  CHECK(Contains(given.err, "p.yaml:3:13: error: accumulate: expected at most the 64 samples of the batch, found 65"));
}

}  // namespace spillway
