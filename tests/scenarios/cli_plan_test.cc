// spillway plan, and run --plan: the same figures again, and rows that say where they come from.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

// Two batches, two strategies, quick to run.
std::string Small(const std::string& more = "") {
  return "name: small\nnetwork: {zoo: cifar-resnet20, batch: [64, 128]}\nmachines: v100-x86-pcie3\n"
         "strategies: [in-core, swap-all]\n" +
         more;
}

TEST_CASE("plan writes a plan that run --plan carries out to the same figures") {
  TemporaryFolder folder("plan");
  const std::string file = folder.Write("s.yaml", Small());
  const Outcome several = Spillway({"plan", file});
  CHECK(several.status == 2);
  CHECK(Contains(several.err, "--batch"));
  const Outcome plan = Spillway({"plan", file, "--batch", "64", "--strategy", "swap-all", "-o", folder.Path("p.yaml")});
  INFO(plan.err);
  REQUIRE(plan.status == 0);
  CHECK(Spillway({"plan", file, "--batch", "64", "--strategy", "swap-all"}).out == folder.Read("p.yaml"));
  const auto chosen = nlohmann::json::parse(
      Spillway({"run", file, "--batch", "64", "--strategy", "swap-all", "--format", "json"}).out)["results"];
  const auto carried_out = nlohmann::json::parse(
      Spillway({"run", file, "--plan", folder.Path("p.yaml"), "--format", "json"}).out)["results"];
  REQUIRE(carried_out.size() == 1);  // only batch 64 is the plan's
  CHECK(carried_out[0]["strategy"] == "swap-all (p.yaml)");
  CHECK(carried_out[0]["step_time_s"] == chosen[0]["step_time_s"]);
  CHECK(Spillway({"run", file, "--batch", "128", "--plan", folder.Path("p.yaml")}).status == 2);
  CHECK(Spillway({"run", file, "--plan", folder.Path("none.yaml")}).status == 2);
  const Outcome too_large = Spillway({"run", file, "--plan", folder.Path("p.yaml"), "--memory", "10 MB"});
  CHECK(too_large.status == 3);
  CHECK_THAT(too_large.err, Catch::StartsWith("the plan swap-all (p.yaml) does not fit cifar-resnet20 at batch 64 on"));
}

TEST_CASE("a plan of a machine on other terms says which, and runs there again") {
  const TemporaryFolder folder("plan-terms");
  const std::string file = folder.Write("s.yaml", Small("link: 8 GB/s\n"));
  const std::string both = folder.Write("both.yaml", Small("link: [4 GB/s, 8 GB/s]\n"));
  const Outcome plan = Spillway(
      {"plan", file, "--batch", "64", "--strategy", "swap-all", "--memory", "150 MB", "-o", folder.Path("p.yaml")});
  INFO(plan.err);
  REQUIRE(plan.status == 0);
  CHECK(Contains(folder.Read("p.yaml"), "machine: \"v100-x86-pcie3+link=8GB/s\"\n"));
  CHECK(Contains(plan.err, "images/s; again by: spillway run " + file + " --batch 64 --memory \"150 MB\" --plan " +
                               folder.Path("p.yaml") + "\n"));
  const auto rows = [](const std::vector<std::string>& words) {
    return nlohmann::json::parse(Spillway(words).out)["results"];
  };
  const auto again =
      rows({"run", both, "--batch", "64", "--memory", "150 MB", "--plan", folder.Path("p.yaml"), "--format", "json"});
  REQUIRE(again.size() == 1);
  const auto chosen =
      rows({"run", file, "--batch", "64", "--memory", "150 MB", "--strategy", "swap-all", "--format", "json"});
  CHECK(again[0]["step_time_s"] == chosen[0]["step_time_s"]);
  CHECK(again[0]["memory_limit_bytes"] == 150'000'000);
  const Outcome plain = Spillway({"run", folder.Write("plain.yaml", Small()), "--plan", folder.Path("p.yaml")});
  CHECK(plain.status == 2);
  CHECK(plain.out.empty());
  CHECK(Contains(plain.err,
                 "machine: the plan is for 'v100-x86-pcie3+link=8GB/s', and the points of scenario 'small' "
                 "with its network and batch have v100-x86-pcie3;"));
  REQUIRE(Spillway({"plan", folder.Path("plain.yaml"), "--batch", "64", "-o", folder.Path("q.yaml")}).status == 0);
  CHECK(Spillway({"run", file, "--plan", folder.Path("q.yaml")}).status == 2);
}

TEST_CASE("a plan that was made for another machine says how it runs here again") {
  const TemporaryFolder folder("plan-elsewhere");
  const std::string file = folder.Write(
      "s.yaml", Replaced(Small(), "[in-core, swap-all]", "{strategy: swap-all, planned_on: v100-power9-nvlink2}"));
  const Outcome plan = Spillway({"plan", file, "--batch", "64", "-o", folder.Path("p.yaml")});
  INFO(plan.err);
  REQUIRE(plan.status == 0);
  CHECK(
      Contains(plan.err, "images/s; made for v100-power9-nvlink2: without its line 'machine' again by: spillway run " +
                             file + " --batch 64 --plan " + folder.Path("p.yaml") + "\n"));
  const std::string text = folder.Read("p.yaml"), line = "machine: v100-power9-nvlink2\n";
  REQUIRE(Contains(text, line));
  const std::vector<std::string> words{"run",      file,  "--batch", "64", "--plan", folder.Path("p.yaml"),
                                       "--format", "json"};
  CHECK(Spillway(words).status == 2);
  folder.Write("p.yaml", Replaced(text, line, ""));
  const auto again = nlohmann::json::parse(Spillway(words).out)["results"];
  const auto chosen =
      nlohmann::json::parse(Spillway({"run", file, "--batch", "64", "--format", "json"}).out)["results"];
  REQUIRE(again.size() == 1);
  CHECK(again[0]["step_time_s"] == chosen[0]["step_time_s"]);
  CHECK(again[0]["machine"] == chosen[0]["machine"]);
}

TEST_CASE("naming an algorithm in a plan widens what its gap is measured against, and that is said") {
  const TemporaryFolder folder("plan-scope");
  const std::string file = folder.Write("s.yaml", Small());
  REQUIRE(Spillway({"plan", file, "--batch", "64", "--strategy", "in-core", "-o", folder.Path("p.yaml")}).status == 0);
  const std::string plan = folder.Read("p.yaml");
  const auto row = [&](const std::string& text) {
    const std::string words = folder.Write("q.yaml", text);
    return nlohmann::json::parse(Spillway({"run", file, "--plan", words, "--format", "json"}).out)["results"][0];
  };
  const auto table = [&] { return Spillway({"run", file, "--plan", folder.Path("q.yaml")}).out; };
  const auto usual = row(plan);
  const std::string scope = usual["bound_scope"];
  CHECK(scope.starts_with("the library's algorithms as usual, "));
  CHECK_FALSE(Contains(table(), "gap of "));
  const auto named = row(plan + "ops:\n  - {op: \"conv1:forward\", algorithm: implicit_gemm, workspace: 1 MB}\n");
  INFO(named.dump());
  const std::string wider = named["bound_scope"];
  CHECK(wider.starts_with("any algorithm, workspaces up to 1.00 MB, "));
  CHECK(named["gap"].get<double>() > usual["gap"].get<double>());
  CHECK(Contains(table(), "\ngap of in-core (q.yaml): the lower bound holds for plans with " + wider + "\n"));
}

}  // namespace
}  // namespace spillway
