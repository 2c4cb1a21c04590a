// What people reported of scenarios, reduced: sizes that say nothing or too much, networks of one name, one point of many.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

Json RowsOf(const std::vector<std::string>& words) {
  const Outcome outcome = Spillway(words);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  return Json::parse(outcome.out)["results"];
}

std::string Text(const std::string& more) {
  return "name: s\nnetwork: {zoo: cifar-resnet20, batch: 64}\nmachines: v100-x86-pcie3\nstrategies: [in-core]\n" + more;
}

// A step of two ops that take `ns` each.
std::string Recorded(const std::string& name, const std::string& ns) {
  return R"({"graph": ")" + name + R"(", "samples": 1, "source": {"assumed": "made up"}, "error": 0.05,
 "values": [{"id": "x", "bytes": 4096, "where": "host"}],
 "nodes": [
  {"id": "f", "op": "f", "ns": )" +
         ns + R"(, "deps": ["x"], "results": [{"id": "y", "bytes": 4096}]},
  {"id": "b", "op": "b", "pass": "backward", "ns": )" +
         ns + R"(, "deps": ["x", "y"], "results": [{"id": "g", "bytes": 4096}]}]}
)";
}

TEST_CASE("no workspace at all is a grant: the times and the peak of one byte") {
  const TemporaryFolder folder("no-workspace");
  for (const char* strategy : {"in-core", "swap-all", "pooch"}) {
    const auto of = [&](const std::string& grant) {
      return RowsOf({"run", folder.Write("s.yaml", Text("workspace: " + grant + "\n")), "--strategy", strategy,
                     "--format", "json"})[0];
    };
    const Json none = of("0 B"), one = of("1 B");
    CHECK(none["step_time_s"] == one["step_time_s"]);
    CHECK(none["peak_bytes"] == one["peak_bytes"]);
  }
  const Json swept = RowsOf({"run", folder.Write("s.yaml", Text("workspace: [0 MB, 64 MiB]\n")), "--format", "json"});
  CHECK(swept.size() == 2);
  CHECK(swept[0]["machine"] != swept[1]["machine"]);
  CHECK(Spillway({"run", folder.Write("s.yaml", Text("workspace: 0\n"))}).status == 2);  // without a unit
}

TEST_CASE("a cap above the machine's memory is told, and usable_memory named") {
  const TemporaryFolder folder("cap");
  const std::string large = folder.Write("s.yaml", Text("memory: [1 GB, 40 GB]\n"));
  const Outcome warned = Spillway({"run", large, "--format", "csv"});
  CHECK(warned.status == 0);
  CHECK_THAT(warned.err,
             Catch::Contains("s.yaml:5:9: warning: memory: 40 GB is more than the 15.6 GB of v100-x86-pcie3") &&
                 Catch::Contains("usable_memory: 40 GB") && !Catch::Contains("memory: 1 GB"));
  CHECK_THAT(Spillway({"plan", folder.Write("p.yaml", Text("")), "--memory", "1 TB"}).err,
             Catch::Contains("--memory: warning: 1 TB is more than"));
  // What is put in the machine's place is what there is.
  const std::string own = folder.Write("s.yaml", Text("usable_memory: 80 GB\nmemory: 40 GB\n"));
  CHECK_THAT(Spillway({"run", own, "--format", "csv"}).err, !Catch::Contains("warning"));
}

TEST_CASE("networks of one name are told apart by their files") {
  const TemporaryFolder folder("one-name");
  folder.Write("fast.json", Recorded("net", "4000000"));
  folder.Write("slow.json", Recorded("net", "8000000"));
  const std::string both = folder.Write(
      "s.yaml",
      "name: s\nnetwork: [{graph: fast.json}, {graph: slow.json}]\nmachines: unit\nstrategies: [in-core, swap-all]\n");
  const Json rows = RowsOf({"run", both, "--format", "json"});
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["network"] == "net (fast.json)");
  CHECK(rows[2]["network"] == "net (slow.json)");
  const Outcome table = Spillway({"run", both});
  CHECK_THAT(table.out,
             Catch::Contains("net (fast.json)") && Catch::Contains("net (slow.json)") && !Catch::Contains("50 %"));
  // Of one name in two folders: by their paths.
  std::filesystem::create_directories(folder.Path("a"));
  std::filesystem::create_directories(folder.Path("b"));
  folder.Write("a/n.json", Recorded("net", "4000000"));
  folder.Write("b/n.json", Recorded("net", "8000000"));
  const Json paths = RowsOf({"run",
                             folder.Write("s.yaml",
                                          "name: s\nnetwork: [{graph: a/n.json}, {graph: b/n.json}]\n"
                                          "machines: unit\nstrategies: [in-core]\n"),
                             "--format", "json"});
  CHECK(paths[0]["network"] != paths[1]["network"]);
  CHECK(Contains(paths[0]["network"].get<std::string>(), "a/n.json"));
}

TEST_CASE("a file that calls itself as a network of the zoo is not it") {
  const TemporaryFolder folder("zoo-name");
  folder.Write("mine.json", Recorded("cifar-resnet20", "4000000"));
  const Json rows = RowsOf({"run",
                            folder.Write("s.yaml",
                                         "name: s\nnetwork: [{zoo: cifar-resnet20, batch: 64}, {graph: mine.json}]\n"
                                         "machines: v100-x86-pcie3\nstrategies: [in-core]\n"),
                            "--format", "json"});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["network"] == "cifar-resnet20");
  CHECK(rows[1]["network"] == "cifar-resnet20 (mine.json)");
}

TEST_CASE("points are told apart by what differs, and one of them is chosen along every axis") {
  const TemporaryFolder folder("one-point");
  const auto plan = [&](const std::string& more, const std::vector<std::string>& words) {
    std::vector<std::string> all = {"plan", folder.Write("s.yaml", Text(more))};
    all.insert(all.end(), words.begin(), words.end());
    return Spillway(all);
  };
  const std::string memories = "usable_memory: [4 GB, 5 GB]\n";
  const Outcome several = plan(memories, {});
  CHECK(several.status == 2);
  CHECK_THAT(several.err,
             Catch::Contains("with 4.00 GB and cifar-resnet20 at batch 64 on v100-x86-pcie3 with 5.00 GB") &&
                 Catch::Contains("--where 'usable_memory=4 GB' (or 5 GB)"));
  CHECK(plan(memories, {"--where", "usable_memory=5GB"}).status == 0);
  CHECK(plan(memories, {"--where", "usable_memory=5000 MB"}).status == 0);
  CHECK(plan("link: [6 GB/s, 12 GB/s]\n", {}).status == 2);
  CHECK(plan("link: [6 GB/s, 12 GB/s]\n", {"--where", "link=6GB/s"}).status == 0);
  CHECK(plan("options: [plain, torch]\n", {"--where", "options=torch"}).status == 0);
  CHECK(plan("workspace: [0 B, 1 GiB]\n", {"--where", "workspace=1GiB"}).status == 0);
  CHECK(plan("emulate: [as-is, {compute_slowdown: 2}]\n", {"--where", "emulate=2x"}).status == 0);
  CHECK(plan("emulate: [as-is, {compute_slowdown: 2}]\n", {"--where", "emulate=usual"}).status == 0);
  CHECK(plan("memory: [1 GB, 2 GB]\nlink: [6 GB/s, 12 GB/s]\n", {"--where", "memory=2GB", "--where", "link=12GB/s"})
            .status == 0);
  const Outcome wrong = plan(memories, {"--where", "usable_memory=6GB"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--where: usable_memory is nowhere '6GB'") && Catch::Contains("4 GB, 5 GB"));
  const Outcome axis = plan(memories, {"--where", "usable-memory=5GB"});
  CHECK(axis.status == 2);
  CHECK_THAT(axis.err, Catch::Contains("did you mean 'usable_memory'?"));
  CHECK(plan(memories, {"--where", "link"}).status == 2);
  CHECK_THAT(plan(memories, {"--where", "usable_memory"}).err,
             Catch::Contains("expected usable_memory=VALUE, found 'usable_memory' (usable_memory is 4 GB, 5 GB in "));
}

TEST_CASE("one network of several, one image of several") {
  const TemporaryFolder folder("one-network");
  const std::string file =
      folder.Write("s.yaml",
                   "name: s\nnetwork: [{zoo: cifar-resnet20, batch: [16, 32]}, {zoo: alexnet, image: [224, "
                   "256], batch: 16}]\nmachines: v100-x86-pcie3\nstrategies: [in-core]\n");
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"network=cifar-resnet20", "batch=32"}, {"network=alexnet", "image=256"}}) {
    const Json rows = RowsOf({"run", file, "--where", where[0], "--where", where[1], "--format", "json"});
    CHECK(rows.size() == 1);
    CHECK(Spillway({"dump", "step", file, "--where", where[0], "--where", where[1]}).status == 0);
  }
}

TEST_CASE("intervals of weeks are those of days, as often as the step is longer") {
  const TemporaryFolder folder("weeks");
  folder.Write("week.json", Recorded("a week", "400000000000000"));
  const Json rows = RowsOf({"run",
                            folder.Write("s.yaml",
                                         "name: w\nnetwork: {graph: week.json}\nmachines: unit\nemulate: [as-is, "
                                         "{compute_slowdown: 3}, {compute_slowdown: 10}]\nstrategies: [in-core]\n"),
                            "--format", "json"});
  REQUIRE(rows.size() == 3);
  const auto of = [&](std::size_t i, const char* key) { return rows[i][key].get<double>(); };
  const double factors[] = {1, 3, 10};
  for (std::size_t i = 0; i < 3; ++i) {
    INFO(rows[i].dump(1));
    CHECK(of(i, "step_time_s") == Approx(8e5 * factors[i]));
    CHECK(of(i, "step_time_low_s") == Approx(of(0, "step_time_low_s") * factors[i]).epsilon(0.01));
    CHECK(of(i, "step_time_high_s") == Approx(of(0, "step_time_high_s") * factors[i]).epsilon(0.01));
    CHECK(of(i, "step_time_low_s") <= of(i, "step_time_s"));
    CHECK(of(i, "step_time_high_s") >= of(i, "step_time_s"));
  }
}

TEST_CASE("a file of -o: written over an earlier file of its kind, never over an input or a file of another kind") {
  const TemporaryFolder folder("not-destroyed");
  const std::string scenario = folder.Write("s.yaml", Text("")), before = folder.Read("s.yaml");
  const Outcome input = Spillway({"plan", scenario, "-o", scenario});
  CHECK(input.status == 2);
  CHECK_THAT(input.err, Catch::Contains("is the input") && Catch::Contains("plan.yaml"));
  CHECK(Spillway({"dump", "step", scenario, "-o", scenario}).status == 2);
  CHECK(folder.Read("s.yaml") == before);
  const std::string other = folder.Write("mine.yaml", before);
  const Outcome kind = Spillway({"plan", scenario, "-o", other});
  CHECK(kind.status == 2);
  CHECK_THAT(kind.err, Catch::Contains("is a scenario and not a plan"));
  CHECK(folder.Read("mine.yaml") == before);
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  CHECK(Spillway({"estimate", ops, "--machine", "unit", "-o", ops}).status == 2);
  CHECK(Spillway({"estimate", ops, "--machine", "unit", "-o", other}).status == 2);
  const std::string notes = folder.Write("notes.txt", "not to be lost\n");
  CHECK(Spillway({"plan", scenario, "-o", notes}).status == 2);
  CHECK(folder.Read("notes.txt") == "not to be lost\n");
  for (int i = 0; i < 2; ++i) {
    CHECK(Spillway({"plan", scenario, "-o", folder.Path("p.yaml")}).status == 0);
    CHECK(Spillway({"estimate", ops, "--machine", "unit", "-o", folder.Path("times.csv")}).status == 0);
    CHECK(Spillway({"dump", "step", scenario, "-o", folder.Path("step.json")}).status == 0);
  }
}

TEST_CASE("an empty value is none, and a plan without a certificate is not certified") {
  const TemporaryFolder folder("no-certificate");
  const std::string scenario = folder.Write("s.yaml", Text("")), plan = folder.Path("p.yaml");
  const Outcome empty = Spillway({"run", scenario, "--out", ""});
  CHECK(empty.status == 2);
  CHECK_THAT(empty.err, Catch::Contains("--out") && Catch::Contains("expected a value, found ''"));
  CHECK(Spillway({"run", scenario, "--machine", ""}).status == 2);
  REQUIRE(Spillway({"plan", scenario, "-o", plan}).status == 0);
  std::filesystem::remove(folder.Path("p.yaml.certificate"));
  const Outcome none = Spillway({"certify", scenario, "--plan", plan});
  CHECK(none.status == 1);
  CHECK_THAT(none.out, Catch::Contains("none certified"));
}

TEST_CASE("shipped scenarios are found from anywhere, and what is wrong with a path is said") {
  const TemporaryFolder folder("anywhere");
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.Path("."));
  CHECK_THAT(Spillway({"plan", "resnet50-pcie-vs-nvlink"}).err, Catch::Contains("more than one point"));
  CHECK_THAT(Spillway({"plan", "scenarios/resnet50-pcie-vs-nvlink.yaml"}).err, Catch::Contains("more than one point"));
  CHECK_THAT(Spillway({"plan", "resnet50-pcie-vs-nvlunk.yaml"}).err, Catch::Contains("no such file"));
  std::filesystem::current_path(here);
  std::filesystem::create_symlink("loop", folder.Path("loop"));
  for (const std::string& name : {std::string("loop"), std::string(300, 'x') + ".yaml"}) {
    CHECK(Spillway({"run", folder.Path(name)}).status == 2);
    for (const char* key : {"file", "graph"}) {
      const std::string text = std::string("name: s\nnetwork: {") + key + ": " + name +
                               (std::string(key) == "file" ? ", batch: 1" : "") +
                               "}\nmachines: unit\nstrategies: [in-core]\n";
      const Outcome outcome = Spillway({"run", folder.Write("s.yaml", text)});
      CHECK(outcome.status == 2);
      CHECK_THAT(outcome.err, Catch::Contains("cannot be read"));
    }
    const std::string machine =
        "name: s\nnetwork: {zoo: alexnet, batch: 1}\nmachines: " + name + "\nstrategies: [in-core]\n";
    CHECK(Spillway({"run", folder.Write("s.yaml", machine)}).status == 2);
    CHECK(Spillway({"run", folder.Write("t.yaml", Text("")), "--plan", folder.Path(name)}).status == 2);
    CHECK(Spillway({"run", folder.Path("t.yaml"), "--out", folder.Path(name)}).status == 2);
    CHECK(Spillway({"report", folder.Path(name)}).status == 2);
    CHECK(Spillway({"run", folder.Path("t.yaml"), "--machine", folder.Path(name)}).status == 2);
  }
}

TEST_CASE("a gap whose action is edited to keep is no gap") {
  const TemporaryFolder folder("keep");
  const std::string scenario = folder.Write("s.yaml", Text("")), plan = folder.Path("p.yaml");
  REQUIRE(Spillway({"plan", scenario, "--strategy", "swap-all", "-o", plan}).status == 0);
  std::string text = folder.Read("p.yaml");
  const std::size_t swap = text.find("action: swap");
  REQUIRE(swap != std::string::npos);
  folder.Write("p.yaml", text.replace(swap, 12, "action: keep"));
  const Json rows = RowsOf({"run", scenario, "--plan", plan, "--format", "json"});
  CHECK(rows[0]["feasible"] == 1);
  folder.Write("p.yaml", text.replace(swap, 12, "action: keap"));
  CHECK_THAT(Spillway({"run", scenario, "--plan", plan}).err,
             Catch::Contains("expected one of swap, recompute, keep; did you mean 'keep'?"));
}

TEST_CASE("a sweep of which some places hold nothing says how many") {
  const TemporaryFolder folder("some");
  const Outcome some =
      Spillway({"run", folder.Write("s.yaml", Text("memory: [1 MB, 2 MB, 1 GB]\n")), "--format", "csv"});
  CHECK(some.status == 3);
  CHECK_THAT(some.err, Catch::Contains("at 2 of 3 places no strategy fits"));
}

TEST_CASE("the option --no-timelines leaves traces out of the folder, and all else in") {
  const TemporaryFolder folder("no-timelines");
  const std::string scenario = folder.Write("s.yaml", Text(""));
  REQUIRE(Spillway({"run", scenario, "--out", folder.Path("with")}).status == 0);
  REQUIRE(Spillway({"run", scenario, "--out", folder.Path("without"), "--no-timelines"}).status == 0);
  CHECK(std::filesystem::exists(folder.Path("with/timelines")));
  CHECK_FALSE(std::filesystem::exists(folder.Path("without/timelines")));
  CHECK_THAT(Spillway({"explain", folder.Path("without"), "--map", "conv1"}).err,
             Catch::Contains("no timelines/*.trace.json in this folder; a run without --no-timelines writes them"));
  CHECK(folder.Read("without/results.csv") == folder.Read("with/results.csv"));
  CHECK(std::filesystem::exists(folder.Path("without/report.html")));
}

}  // namespace
}  // namespace spillway
