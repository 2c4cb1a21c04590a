// What report.html is made of: the page that runs leave, and the traces that it shows.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "reports/html/packed.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"
#include "tests/trace_schema.h"

namespace spillway {
namespace {

using Events = nlohmann::json;

const std::string kScenario =
    "name: \"a \\\"quoted\\\" </script><b> \\u00fcber \\x07\"\nnetwork: {zoo: cifar-resnet20, batch: 64}\n"
    "machines: v100-x86-pcie3\nmemory: 60 MB\nstrategies: [swap-all, recompute-all, pooch]\n";

struct Written {
  TemporaryFolder folder{"report"};
  Outcome outcome;
  Written() : outcome(Spillway({"run", folder.Write("s.yaml", kScenario), "--out", folder.Path("o")})) {}
  std::vector<Events> Traces() const {
    std::vector<Events> traces;
    for (const auto& entry : std::filesystem::directory_iterator(folder.Path("o/timelines"))) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() == ".json") traces.push_back(Events::parse(folder.Read("o/timelines/" + name)));
    }
    return traces;
  }
};

std::int64_t Nanoseconds(const Events& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

TEST_CASE("a run leaves its page, and report makes the same one again") {
  const Written run;
  INFO(run.outcome.err);
  const std::string page = run.folder.Read("o/report.html");
  REQUIRE(Contains(page, "data-file=\"results.json\""));
  CHECK(Contains(page, "data-file=\"timelines/cifar-resnet20_b64_v100-x86-pcie3_60-MB_swap-all.trace.json\""));
  CHECK_FALSE(Contains(page, "quoted"));
  CHECK(Contains(run.folder.Read("o/run.manifest"), "report.html"));
  const Outcome again = Spillway({"report", run.folder.Path("o"), "-o", run.folder.Path("again.html")});
  CHECK(again.status == kExitDone);
  CHECK(run.folder.Read("again.html") == page);
}

TEST_CASE("report of what is no folder of results is refused, and nothing is written") {
  const TemporaryFolder folder("nothing");
  const Outcome none = Spillway({"report", folder.Path("absent")});
  CHECK(none.status == kExitWrongInput);
  CHECK(Contains(none.err, "absent: error: no folder"));
  CHECK(Spillway({"report", folder.Path("")}).status == kExitWrongInput);
  CHECK_FALSE(std::filesystem::exists(folder.Path("report.html")));
}

TEST_CASE("report -o - prints the page, and of a run that was cut off it says so") {
  const Written run;
  const Outcome printed = Spillway({"report", run.folder.Path("o"), "-o", "-"});
  CHECK(printed.status == kExitDone);
  CHECK(printed.out == run.folder.Read("o/report.html"));
  CHECK_FALSE(Contains(printed.err, "not complete"));
  run.folder.Write("o/run.journal", "");
  CHECK(Contains(Spillway({"report", run.folder.Path("o")}).err, "warning: this run is not complete"));
}

TEST_CASE("flows of a trace are closed: each begins in a swap-out and ends in a later swap-in of the same map") {
  const Written run;
  std::size_t flows = 0;
  for (const Events& trace : run.Traces()) {
    std::map<std::tuple<int, int, std::int64_t>, std::string> at;  // what begins on a thread then
    std::map<int, std::pair<std::string, std::int64_t>> open;
    for (const Events& e : trace["traceEvents"]) {
      if (e["ph"] == "M" || e["ph"] == "C") continue;
      const std::int64_t time = Nanoseconds(e["ts"]);
      const std::tuple place{e["pid"].get<int>(), e["tid"].get<int>(), time};
      if (e["ph"] == "X" && e["cat"] == "copy") at[place] = e["name"].get<std::string>();
      if (e["ph"] == "s") open[e["id"].get<int>()] = {at.at(place), time};
      if (e["ph"] != "f") continue;
      const auto begun = open.find(e["id"].get<int>());
      REQUIRE(begun != open.end());
      CHECK(begun->second.second < time);
      CHECK("swap-in" + begun->second.first.substr(8) == at.at(place));
      open.erase(begun);
      ++flows;
    }
    CHECK(open.empty());
  }
  CHECK(flows > 10);
}

TEST_CASE("the stalls of a trace add up to those of the row, and name what they wait for") {
  const Written run;
  const Events results = Events::parse(run.folder.Read("o/results.json"))["results"];
  for (const Events& trace : run.Traces()) {
    CHECK(CheckedThreads(trace["traceEvents"]) >= 4);  // issue, compute, its stalls, copies
    std::map<std::string, std::int64_t> stalled;
    std::set<int> work;
    for (const Events& e : trace["traceEvents"]) {
      if (e["ph"] != "X") continue;
      if (e["args"].contains("instruction")) work.insert(e["args"]["instruction"].get<int>());
      if (e["cat"] == "stall") stalled[e["args"]["cause"].get<std::string>()] += Nanoseconds(e["dur"]);
    }
    for (const Events& e : trace["traceEvents"]) {
      if (e["ph"] == "X" && e["cat"] == "stall" && e["args"].contains("by"))
        CHECK(work.contains(e["args"]["by"].get<int>()));
    }
    for (const Events& row : results) {
      if (row["point"] != trace["otherData"]["point"]) continue;
      CHECK(stalled["swap-in"] == std::llround(row["stall_in_s"].get<double>() * 1e9));
      CHECK(stalled["swap-out"] == std::llround(row["stall_out_s"].get<double>() * 1e9));
      CHECK(stalled["host"] + stalled["barrier"] == std::llround(row["stall_host_s"].get<double>() * 1e9));
    }
  }
}

TEST_CASE("a trace's memory by class adds up to the curve, and its maps to the row's classes") {
  const Written run;
  const Events results = Events::parse(run.folder.Read("o/results.json"))["results"];
  for (const Events& trace : run.Traces()) {
    std::int64_t peak = 0;
    for (const Events& e : trace["traceEvents"]) {
      if (e["ph"] != "C" || e["name"] != "live memory") continue;
      std::int64_t live = 0;
      for (const auto& [name, bytes] : e["args"].items()) live += bytes.get<std::int64_t>();
      peak = std::max(peak, live);
    }
    std::map<std::string, int> classes;
    for (const Events& map : trace["otherData"]["maps"]) ++classes[map["class"].get<std::string>()];
    for (const Events& row : results) {
      if (row["point"] != trace["otherData"]["point"]) continue;
      CHECK(peak == row["live_peak_bytes"].get<std::int64_t>());
      for (const char* name : {"keep", "swap", "recompute"}) CHECK(classes[name] == row[name].get<int>());
    }
  }
}

TEST_CASE("run --timeline sketches each point that runs below the table") {
  const TemporaryFolder folder("sketch");
  const Outcome run = Spillway({"run", folder.Write("s.yaml", kScenario), "--timeline"});
  CHECK(Contains(run.out, ": swap-all at batch 64 on v100-x86-pcie3, 60.0 MB\n  compute  "));
  CHECK(Contains(run.out, "memory in eighths of the limit\n"));
  CHECK_FALSE(Contains(run.out, "\x1b"));
}

TEST_CASE("explain tells why a map was swapped, what that moves, and what else would cost") {
  const Written run;
  const std::string swapped =
      run.folder.Path("o/timelines/cifar-resnet20_b64_v100-x86-pcie3_60-MB_swap-all.trace.json");
  const Outcome map = Spillway({"explain", swapped, "--map", "conv1"});
  INFO(map.err);
  CHECK(map.status == kExitDone);
  CHECK(Contains(map.out, "conv1: 64x16x32x32, 4.19 MB, swapped by swap-all at batch 64 on v100-x86-pcie3"));
  CHECK(Contains(map.out, "moved       4.19 MB out, 4.19 MB in, by 2 copies"));
  CHECK(Contains(map.out, "next best without more memory: recompute\n"));
  const Outcome op = Spillway({"explain", swapped, "--op", "conv1:forward"});
  CHECK(Contains(op.out, "conv1:forward by swap-all"));
  CHECK(Contains(op.out, "algorithm "));
}

// The plan's line of the map with one thing more: that it leaves behind the op where its gap begins, not at once.
std::string Staying(std::string plan, const std::string& map) {
  const std::size_t line = plan.find("{tensor: " + map + ",");
  const std::size_t from = plan.find("after: ", line) + std::string("after: ").size();
  const std::string op = plan.substr(from, plan.find(',', from) - from);
  return plan.insert(plan.find(", reason:", line), ", leaves_after: " + op);
}

TEST_CASE("explain and dump say until when a map stays in its gap") {
  const TemporaryFolder folder("stays");
  const std::string file = folder.Write("s.yaml", kScenario);
  const Outcome planned = Spillway({"plan", file, "--strategy", "swap-all"});
  REQUIRE(planned.status == kExitDone);
  const std::string plan = folder.Write("p.yaml", Staying(planned.out, "conv1"));
  const Outcome run = Spillway({"run", file, "--plan", plan, "--out", folder.Path("o")});
  INFO(run.err);
  REQUIRE(run.status == kExitDone);
  const std::string trace =
      folder.Path("o/timelines/cifar-resnet20_b64_v100-x86-pcie3_60-MB_swap-all-given.trace.json");
  const Outcome map = Spillway({"explain", trace, "--map", "conv1"});
  INFO(map.err);
  CHECK(Contains(map.out,
                 "  stays       on the device from bn_conv1:forward until bn_conv1:forward is done, then leaves\n"));
  CHECK_FALSE(Contains(Spillway({"explain", trace, "--map", "bn_conv1"}).out, "  stays "));
  int staying = 0;
  const Events dumped = Events::parse(Spillway({"dump", "plan", file, "--plan", plan}).out);
  for (const auto& gap : dumped.at("gaps")) {
    if (!gap.contains("leaves_after")) continue;
    ++staying;
    CHECK(gap["tensor"] == "conv1");
    CHECK(gap["leaves_after"] == "bn_conv1:forward");
    CHECK(gap["leaves_after_id"] == gap["after_id"]);
  }
  CHECK(staying == 1);
}

TEST_CASE("explain names the nearest map, and asks which point of a folder is meant") {
  const Written run;
  const std::string file = run.folder.Path("o/timelines/cifar-resnet20_b64_v100-x86-pcie3_60-MB_swap-all.trace.json");
  CHECK(Contains(Spillway({"explain", file, "--map", "conv"}).err, "no map 'conv'; did you mean 'conv1'?"));
  CHECK(Contains(Spillway({"explain", file, "--op", "conv1:forwards"}).err, "did you mean 'conv1:forward'?"));
  CHECK(Contains(Spillway({"explain", run.folder.Path("o"), "--map", "conv1"}).err, "which of its points?"));
  CHECK(Contains(Spillway({"explain", file}).err, "expected --op NAME or --map NAME"));
  const Outcome wrong = Spillway({"explain", run.folder.Path("o/results.json"), "--map", "conv1"});
  CHECK(wrong.status == kExitWrongInput);
  CHECK(Contains(wrong.err, "no timeline with the decisions of a plan"));
  for (const char* maps : {"[1, 2]", R"([{"name": "conv1"}])"}) {
    const std::string damaged =
        run.folder.Write("d.json", R"({"otherData": {"maps": )" + std::string(maps) + R"(}, "traceEvents": []})");
    CHECK(Spillway({"explain", damaged, "--map", "conv1"}).status == kExitWrongInput);
  }
  const std::string packed = run.folder.Write(
      "t.json.gz", Gzip(run.folder.Read("o/timelines/cifar-resnet20_b64_v100-x86-pcie3_60-MB_swap-all.trace.json")));
  CHECK(Spillway({"explain", packed, "--map", "conv1"}).out == Spillway({"explain", file, "--map", "conv1"}).out);
}

}  // namespace
}  // namespace spillway
