#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/reports.h"
#include "reports/tables/tables.h"
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

TEST_CASE("help and version go to standard output, mistakes to standard error") {
  CHECK(Spillway({"--version"}).status == 0);
  CHECK(Contains(Spillway({"--version"}).out, "spillway 0."));
  CHECK(Contains(Spillway({"--version"}).out, Commit()));
  const Outcome verbose = Spillway({"--version", "--verbose"});
  CHECK(verbose.status == 0);
  CHECK(Contains(verbose.out, Spillway({"--version"}).out + "profiles and scenarios: "));
  CHECK(Contains(verbose.out, "\ncached plans: /"));
  CHECK(Contains(verbose.out, "/spillway/plans\n"));
  const Outcome help = Spillway({"--help"});
  CHECK(help.status == 0);
  for (const char* part : {"run", "compare", "plan", "list", "show", "Examples:", "Exit status:"}) {
    CHECK(Contains(help.out, part));
  }
  CHECK(Contains(Spillway({"run", "--help"}).out, "--jobs"));
}

TEST_CASE("a wrong command line is status 2 with a hint") {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "expected a verb"},
      {{"runn"}, "unknown verb 'runn'; did you mean 'run'?"},
      {{"run"}, "FILE"},
      {{"run", "a.yaml", "--jobs", "0"}, "--jobs"},
      {{"run", "a.yaml", "--jobs", "many"}, "--jobs"},
      {{"run", "a.yaml", "--format", "xml"}, "--format"},
      {{"run", "a.yaml", "--colour"}, "--colour"},
      {{"run", "no/such.yaml"}, "no/such.yaml"},
      {{"list", "machine"}, "did you mean 'machines'?"},
      {{"show", "network", "resnet5"}, "did you mean 'resnet50'?"},
      {{"show", "machine", "v100-x86-pcie"}, "did you mean 'v100-x86-pcie3'?"},
      {{"show", "strategy", "pouch"}, "did you mean 'pooch'?"},
      {{"show", "network", "resnet50", "--batch", "0"}, "--batch"},
  };
  for (const auto& [words, part] : cases) {
    const Outcome outcome = Spillway(words);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(Contains(outcome.err, part));
  }
}

TEST_CASE("wrong input: every message of every file, and nothing is written") {
  TemporaryFolder folder("wrong");
  const std::string a = folder.Write("a.yaml", Small("memory: 12\n"));
  const std::string b = folder.Write("b.yaml", Small("optoins: plain\n"));
  const Outcome outcome = Spillway({"run", a, b, "--out", folder.Path("out")});
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(Contains(outcome.err, "a.yaml:5:9: error: memory: '12' has no unit"));
  CHECK(Contains(outcome.err, "b.yaml:5:1: error: unknown key 'optoins'"));
  CHECK_FALSE(std::filesystem::exists(folder.Path("out")));
}

TEST_CASE("run prints a table, or machine-readable text and nothing else") {
  TemporaryFolder folder("formats");
  const std::string file = folder.Write("s.yaml", Small());
  const Outcome table = Spillway({"run", file});
  INFO(table.err);
  CHECK(table.status == 0);
  CHECK(table.err.empty());
  CHECK(Contains(table.out, "small: cifar-resnet20 (fp32) on v100-x86-pcie3"));
  const Outcome csv = Spillway({"run", file, "--format", "csv"});
  CHECK(csv.out.starts_with(ResultCsvHeader() + "\n"));
  CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 5);
  const auto json = nlohmann::json::parse(Spillway({"run", file, "--format", "json"}).out);
  CHECK(json["results"].size() == 4);
  CHECK(json["results"][0]["strategy"] == "in-core");
}

TEST_CASE("run writes the results and every feasible point's files") {
  TemporaryFolder folder("out");
  const std::string file = folder.Write("s.yaml", Small());
  const Outcome outcome = Spillway({"run", file, "--out", folder.Path("o"), "--format", "csv"});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK(folder.Read("o/results.csv") == outcome.out);
  CHECK(nlohmann::json::parse(folder.Read("o/results.json"))["results"].size() == 4);
  const auto run = nlohmann::json::parse(folder.Read("o/run.json"));
  CHECK(run["point_seconds"].size() == 4);
  CHECK(Contains(run["command"].get<std::string>(), "--format csv"));
  const std::string point = "cifar-resnet20_b64_v100-x86-pcie3_swap-all";
  CHECK(Contains(folder.Read("o/plans/" + point + ".yaml"), "strategy: swap-all"));
  CHECK(Contains(folder.Read("o/timelines/" + point + ".memory.csv"), "time_ns,live_bytes\n"));
  CHECK(nlohmann::json::parse(folder.Read("o/timelines/" + point + ".trace.json"))["traceEvents"].size() > 100);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.Path("o"))) {
    CHECK(entry.path().extension() != ".part");
  }
}

TEST_CASE("traces of real plans are sorted and no thread overlaps itself") {
  TemporaryFolder folder("traces");
  REQUIRE(Spillway({"run", folder.Write("s.yaml", Small()), "--out", folder.Path("o")}).status == 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.Path("o/timelines"))) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const auto events = nlohmann::json::parse(std::ifstream(entry.path()))["traceEvents"];
    std::map<std::pair<int, int>, std::int64_t> end;
    std::int64_t last = 0;
    bool sorted = true, apart = true;
    for (const auto& e : events) {
      if (e["ph"] == "M") continue;
      const std::int64_t start = std::llround(e["ts"].get<double>() * 1000);
      sorted = sorted && start >= last;
      last = start;
      if (e["ph"] != "X") continue;
      std::int64_t& thread_end = end[{e["pid"].get<int>(), e["tid"].get<int>()}];
      apart = apart && start >= thread_end;
      thread_end = start + std::llround(e["dur"].get<double>() * 1000);
    }
    INFO(entry.path().string());
    CHECK(sorted);
    CHECK(apart);
  }
  CHECK(files == 4);
}

TEST_CASE("the results do not depend on the number of threads") {
  TemporaryFolder folder("jobs");
  const std::string file = folder.Write("s.yaml", Small("memory: [100 MB, 200 MB, 1 GB]\n"));
  const Outcome one = Spillway({"run", file, "--format", "json", "--jobs", "1"});
  const Outcome four = Spillway({"run", file, "--format", "json", "--jobs", "4"});
  CHECK(!one.out.empty());
  CHECK(one.out == four.out);
  CHECK(one.status == four.status);
}

TEST_CASE("run --check: status 1 when a gate fails, 0 when only a reported figure differs") {
  TemporaryFolder folder("check");
  const std::string wrong = "expect:\n  - {strategy: in-core, batch: 64, keep: 1, source: p}\n";
  const std::string gate = "expect:\n  - {strategy: in-core, batch: 64, keep: 1, within: 10 %, source: p}\n";
  CHECK(Spillway({"run", folder.Write("a.yaml", Small(wrong)), "--check"}).status == 0);
  CHECK(Spillway({"run", folder.Write("b.yaml", Small(gate))}).status == 0);
  const Outcome failed = Spillway({"run", folder.Write("c.yaml", Small(gate)), "--check"});
  CHECK(failed.status == 1);
  CHECK(Contains(failed.out, "NO"));
  CHECK(Contains(failed.err, "1 of the expectations that are gates failed"));
}

TEST_CASE("run --check: a required order is a gate") {
  TemporaryFolder folder("check-order");
  const auto status = [&](const char* bound) {
    const std::string order = "expect:\n  - {strategy: swap-all, batch: 64, ratio: {strategy: in-core, " +
                              std::string(bound) + "}, required: true, source: p}\n";
    return Spillway({"run", folder.Write("a.yaml", Small(order)), "--check"}).status;
  };
  CHECK(status("at_most: 1.0") == 0);  // swapping takes no time away
  CHECK(status("at_least: 1.5") == 1);
}

TEST_CASE("run --check: gates decide, and rows that were said not to run are no error") {
  TemporaryFolder folder("check-infeasible");
  const auto run = [&](const std::string& expect, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", folder.Write("a.yaml", Small("memory: 10 MB\nexpect:\n" + expect))};
    words.insert(words.end(), more.begin(), more.end());
    return Spillway(words);
  };
  const std::string none = "  - {feasible: false, required: true, source: p}\n";
  const std::string some = "  - {feasible: false, strategy: in-core, required: true, source: p}\n";
  const std::string gate = "  - {batch: 64, keep: 1, within: 10 %, source: p}\n";
  CHECK(run(none, {"--check"}).status == 0);
  CHECK(run(none, {}).status == 0);
  CHECK(run(none, {}).err.empty());
  // swap-all was not said to fail, and there is nothing else.
  const Outcome unexpected = run(some, {"--check"});
  CHECK(unexpected.status == 3);
  CHECK(Contains(unexpected.err, "no strategy fits cifar-resnet20 at batch 64"));
  // A gate that fails is told and decides, whatever does not fit.
  const Outcome failed = run(gate, {"--check"});
  CHECK(failed.status == 1);
  CHECK(Contains(failed.err, "2 of the expectations that are gates failed"));
  CHECK(Contains(failed.err, "no strategy fits"));
  CHECK(run(gate, {}).status == 3);
  CHECK(Contains(failed.out, "\nwithin?: yes or NO where --check holds us to it; - where "));
  CHECK(run(none + gate, {"--check"}).status == 1);
}

TEST_CASE("run --check: expectations that the command line leaves no point are counted, not passed over") {
  TemporaryFolder folder("check-unselected");
  const std::string gates =
      "expect:\n  - {strategy: in-core, batch: 64, keep: 1, within: 10 %, source: p}\n"
      "  - {strategy: in-core, batch: 32, feasible: true, required: true, source: p}\n";
  const std::string file = folder.Write("a.yaml", Small(gates));
  const Outcome outcome = Spillway({"run", file, "--batch", "32", "--check"});
  CHECK(outcome.status == 0);
  CHECK(Contains(outcome.err, "--check: 1 of the expectations has no point left and is not judged"));
  CHECK_FALSE(Contains(Spillway({"run", file, "--batch", "32"}).err, "no point left"));
}

TEST_CASE("a batch with a leading zero is refused with what to write") {
  TemporaryFolder folder("octal");
  const Outcome outcome = Spillway({"run", folder.Write("s.yaml", Replaced(Small(), "[64, 128]", "010"))});
  CHECK(outcome.status == 2);
  CHECK(Contains(outcome.err, "batch: expected a whole number from 1 to 1000000, found '010', which is eight to some"));
}

TEST_CASE("3 when a single layer does not fit, with the op and a limit that would do") {
  TemporaryFolder folder("three");
  const std::string file = folder.Write("s.yaml", Small());
  const Outcome outcome = Spillway({"run", file, "--memory", "10 MB", "--batch", "64"});
  CHECK(outcome.status == 3);
  CHECK(Contains(outcome.out, "does not run"));
  INFO(outcome.err);
  const std::string phrase = "swapping every map would do with ";
  const std::size_t at = outcome.err.find(phrase);
  REQUIRE(at != std::string::npos);
  CHECK(Contains(outcome.err, "no strategy fits cifar-resnet20 at batch 64 on v100-x86-pcie3 with 10.0 MB: op "));
  // With that limit the op is no obstacle any more.
  std::string limit = outcome.err.substr(at + phrase.size());
  limit = limit.substr(0, limit.find(','));
  CHECK(limit.size() <= std::string("99.99 MB").size());
  CHECK_FALSE(Contains(Spillway({"run", file, "--memory", limit, "--batch", "64"}).err, "swapping every map"));
  // One op has one size, in the table as in the message.
  const std::string row = "working_set: ";
  const std::size_t reason = outcome.out.find(row);
  REQUIRE(reason != std::string::npos);
  const std::string needs =
      outcome.out.substr(reason + row.size(), outcome.out.find('\n', reason) - reason - row.size());
  CHECK(Contains(outcome.err, "op " + needs + "; "));
}

TEST_CASE("an output folder that cannot be made is refused before anything runs") {
  TemporaryFolder folder("occupied");
  const std::string file = folder.Write("s.yaml", Small());
  const Outcome outcome = Spillway({"run", file, "--out", file});
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(Contains(outcome.err, "cannot write"));
  const Outcome endless = Spillway({"run", file, "--out", folder.Path(std::string(300, 'n'))});
  CHECK(endless.status == 2);
  CHECK(Contains(endless.err, "nnn': File name too long"));
}

}  // namespace
}  // namespace spillway
