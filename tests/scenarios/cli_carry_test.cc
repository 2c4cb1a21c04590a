// `spillway plan --for torch`: the actions between the calls of a recorded step, by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

// Two layers with weights w and v: a saves x, b saves a.y (512 bytes), the loss saves b.y.
constexpr const char* kStep = R"({"graph": "two layers", "samples": 1, "source": {"assumed": "by hand"}, "error": 0.1,
 "values": [{"id": "x", "bytes": 512}, {"id": "w", "bytes": 512}, {"id": "v", "bytes": 512}],
 "nodes": [
  {"id": "a", "op": "linear", "ns": 100, "deps": ["x", "w"], "results": [{"id": "a.y", "bytes": 512}]},
  {"id": "b", "op": "linear", "ns": 100, "deps": ["a.y", "v"], "results": [{"id": "b.y", "bytes": 512}]},
  {"id": "loss", "op": "square", "ns": 100, "deps": ["b.y"], "results": [{"id": "l", "bytes": 4}]},
  {"id": "loss:back", "op": "square_backward", "pass": "backward", "ns": 100, "deps": ["b.y"], "results": [{"id": "b.d", "bytes": 512}]},
  {"id": "b:back", "op": "linear_backward", "pass": "backward", "ns": 100, "deps": ["b.d", "a.y", "v"], "results": [{"id": "a.d", "bytes": 512}]},
  {"id": "a:back", "op": "linear_backward", "pass": "backward", "ns": 100, "deps": ["a.d", "x"], "results": [{"id": "w.d", "bytes": 512}]}]})";

class Carried {
 public:
  Carried() : folder_("carry") { folder_.Write("step.json", kStep); }
  std::string Write(const std::string& name, const std::string& text) { return folder_.Write(name, text); }
  Outcome Run(const std::string& strategy, const std::string& network = "{graph: step.json}",
              const std::string& out = "-") {
    const std::string file =
        folder_.Write("s.yaml", "name: carried\nnetwork: " + network +
                                    "\nmachines: unit\nmemory: 1 MB\nstrategies: " + strategy + "\n");
    return Spillway({"plan", file, "--for", "torch", "-o", out});
  }
  Json Plan(const std::string& strategy) {
    const Outcome outcome = Run(strategy);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return Json::parse(outcome.out);
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("plan --for torch: swaps go out after their last reader and come back before the next") {
  const Json plan = Carried().Plan("swap-all");
  CHECK(plan["format"] == "spillway-carry");
  CHECK(plan["version"] == 1);
  CHECK(plan["strategy"] == "swap-all");
  // a.y is read by b and b:back, b.y by loss and loss:back. Both leave the device in between, over the host.
  CHECK(plan["host_bytes"] == 1024);
  std::map<std::string, std::string> order;  // by tensor: kinds of its actions, in the order of calls
  for (const char* call : {"a", "b", "loss", "loss:back", "b:back", "a:back", "end"}) {
    if (!plan["before"].contains(call)) continue;
    for (const Json& action : plan["before"][call]) {
      order[action[1]] += std::string(action[0]) + "@" + call + " ";
    }
  }
  CHECK(order["a.y"].rfind("out@loss leave@", 0) == 0);
  CHECK(order["a.y"].find(" in@") != std::string::npos);
  CHECK(order["a.y"].find("release@a:back") != std::string::npos);
  CHECK(order.size() == 2);
  CHECK(plan["held"].empty());
}

TEST_CASE("plan --for torch: what a rerun reads is held, and leaves when the plan says") {
  const Json plan = Carried().Plan("recompute-all");
  // b.y is run again from a.y, which is run again from x: both reruns stand before loss:back, a.y stays for b:back.
  const Json& before = plan["before"];
  REQUIRE(before.contains("loss:back"));
  std::vector<std::string> again;
  for (const Json& action : before["loss:back"]) {
    if (action[0] == "again") again.push_back(action[1]);
  }
  CHECK(again == std::vector<std::string>{"a", "b"});
  CHECK(plan["held"] == Json{"a.y"});
  CHECK(plan["host_bytes"] == 0);
}

TEST_CASE("plan --for torch: the recording's calls and values come along, lists have an entry for each call") {
  const Json plan = Carried().Plan("in-core");
  CHECK(plan["before"].empty());
  CHECK(plan["calls"].size() == 6);
  CHECK(plan["calls"][1]["deps"] == Json{"a.y", "v"});
  CHECK(plan["values"][2]["id"] == "v");
  // Values 3 x 512; then a.y; a.y, b.y; and the loss's bytes, a unit more; gradients take the place of maps.
  CHECK(plan["live_bytes"] == Json{2048, 2560, 3072, 3072, 3072, 2560});
  CHECK(plan["peak_bytes"] == 3072);
}

TEST_CASE("plan --for torch: each kind of a recording gets its plan, with its own calls") {
  Carried carried;
  Json step = Json::parse(kStep);
  Json other = step;
  other["graph"] = "two layers, kind 2";
  other["nodes"].push_back({{"id", "a:more"},
                            {"op", "add_"},
                            {"pass", "backward"},
                            {"ns", 100},
                            {"deps", {"w.d", "x"}},
                            {"results", {{{"id", "x.d"}, {"bytes", 512}}}}});
  step["more"] = {other};
  carried.Write("step.json", step.dump());
  for (const char* strategy : {"swap-all", "recompute-all"}) {
    const Json plan = carried.Plan(strategy);
    CHECK(plan["calls"].size() == 6);
    REQUIRE(plan["more"].size() == 1);
    const Json& kind = plan["more"][0];
    CHECK(kind["network"] == "two layers, kind 2");
    CHECK(kind["calls"].size() == 7);
    CHECK(kind["format"] == "spillway-carry");
    CHECK(kind["before"].size() >= plan["before"].size());
  }
  step["more"] = {other, 7};
  carried.Write("step.json", step.dump());
  CHECK(carried.Run("in-core").err.find("more: expected a recorded step") != std::string::npos);
  other["nodes"][0].erase("deps");
  other["nodes"][1]["deps"] = {"nothing"};
  step["more"] = {other};
  carried.Write("step.json", step.dump());
  CHECK(carried.Run("in-core").status == 2);
}

TEST_CASE("plan --for torch: a step that was not recorded is refused") {
  const Outcome outcome = Carried().Run("in-core", "{zoo: cifar-resnet20, batch: 8}");
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("--for torch: cifar-resnet20 is no recording: expected 'network: {graph: STEP.json}'") !=
        std::string::npos);
}

TEST_CASE("plan --for torch: an earlier file of the kind is replaced, a plan of the other kind is not") {
  Carried carried;
  const std::string mine = carried.Write("mine.json", "");
  CHECK(carried.Run("in-core", "{graph: step.json}", mine).status == 0);
  CHECK(carried.Run("swap-all", "{graph: step.json}", mine).status == 0);
  const std::string yaml = carried.Write("plan.yaml", "network: two layers\nbatch: 1\ngaps: []\n");
  const Outcome outcome = carried.Run("in-core", "{graph: step.json}", yaml);
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("is a plan and not a plan for PyTorch") != std::string::npos);
}

TEST_CASE("plan --for torch: a tensor that is back before it has left stays") {
  Carried carried;
  const std::string file = carried.Write(
      "s.yaml", "name: s\nnetwork: {graph: step.json}\nmachines: unit\nmemory: 1 MB\nstrategies: swap-all\n");
  const Outcome outcome = Spillway({"plan", file, "--runtime", "torch", "--for", "torch", "-o", "-"});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  std::map<std::string, std::string> order;
  const Json plan = Json::parse(outcome.out);
  for (const char* call : {"a", "b", "loss", "loss:back", "b:back", "a:back", "end"}) {
    if (!plan["before"].contains(call)) continue;
    for (const Json& action : plan["before"][call]) order[action[1]] += std::string(action[0]) + " ";
  }
  for (const auto& [tensor, actions] : order) {
    INFO(tensor << ": " << actions);
    const std::size_t leaves = actions.find("leave"), comes = actions.find("in ");
    CHECK((leaves == std::string::npos || leaves < comes));
  }
}

TEST_CASE("plan --for torch: by call, when it ends; calls that run again do not count") {
  const Json plan = Carried().Plan("recompute-all");
  const auto ends = plan["end_ns"].get<std::vector<std::int64_t>>();
  REQUIRE(ends.size() == 6);
  CHECK(std::is_sorted(ends.begin(), ends.end()));
  CHECK(ends.front() > 0);
  CHECK(ends.back() <= plan["step_time_ns"].get<std::int64_t>());
}

TEST_CASE("plan --for torch: what cannot be carried out is not planned, and refused by name on another runtime") {
  Carried carried;
  const std::string step = std::string(kStep).substr(0, std::string(kStep).rfind("]}")) +
                           R"(, {"id": "u", "op": "u", "pass": "update", "ns": 100, "deps": ["w.d", "w"]}]})";
  const std::string file = carried.Write("update.json", step);
  const std::string scenario = carried.Write(
      "u.yaml", "name: u\nnetwork: {graph: update.json}\nmachines: unit\nmemory: 1 MB\nstrategies: in-core\n");
  const std::string plan = carried.Write("p.yaml",
                                         "network: two layers\nbatch: 1\ngaps:\n  - {tensor: w.d, action: swap, after: "
                                         "\"a:back\", before: u}\n");
  const Outcome row = Spillway({"run", scenario, "--plan", plan, "--runtime", "torch"});
  CHECK(row.out.find("not_carried: the runtime cannot obey: 'w.d' leaves between 'a:back' and 'u'") !=
        std::string::npos);
  const std::string rests = carried.Write("r.yaml",
                                          "network: two layers\nbatch: 1\ngaps:\n  - {tensor: w, action: swap, after: "
                                          "u, before: next_step}\n");
  const Outcome refused = Spillway({"run", scenario, "--plan", rests, "--runtime", "torch"});
  CHECK(refused.out.find("not_carried: the runtime cannot obey: 'w' lies on the host between steps") !=
        std::string::npos);
  CHECK(Spillway({"run", scenario, "--plan", rests}).status == 0);
}

TEST_CASE("plan --for torch: the carrier's measured cost of a call is planned with, and may say not to") {
  Carried carried;
  const auto with = [&](const std::string& cost) {
    const std::string text = std::string("{\"format\": \"spillway-step\", \"version\": 2, \"machine\": {" + cost +
                                         "}, \"device\": {\"type\": \"cuda\", \"name\": \"card\"}, ") +
                             std::string(kStep).substr(1);
    return Spillway({"plan", carried.Write("cost.json", text), "--memory", "4GB", "--for", "torch", "-o", "-"});
  };
  const Outcome dear = with("\"carried_call_ns\": 100000"), free = with("\"carried_call_ns\": 0.4");
  INFO(dear.err);
  REQUIRE(dear.status == 0);
  CHECK(dear.err.find("carry out no plan: the step fits as it is") != std::string::npos);
  CHECK(Json::parse(dear.out)["step_time_ns"] >= 600'000);
  REQUIRE(free.status == 0);
  CHECK(Json::parse(free.out)["step_time_ns"] < 100'000);
}

}  // namespace
}  // namespace spillway
