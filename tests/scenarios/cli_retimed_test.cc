// A recording asked about on a card that it was not recorded on: run, plan and show step.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

constexpr int kConvolutions = 6;

Json Sized(const Json& shape) { return {{"shape", shape}, {"type", "float32"}}; }

// Convolutions on a processor, each of 64 channels, and behind each a call that no law knows.
std::string Recording(int batch) {
  const Json map = Sized({batch, 64, 56, 56}), weight = Sized({64, 64, 3, 3});
  const std::int64_t bytes = std::int64_t{4} * batch * 64 * 56 * 56;
  const Json window = {1, 1, 1, 1, 1, 1, false, 0, 0, 1};
  Json nodes = Json::array(), forward = window, back = window;
  forward.insert(forward.begin(), nullptr);
  back.insert(back.begin(), 0);
  for (const bool made : {true, true, false}) back.push_back(made);
  const auto add = [&](const std::string& id, const char* op, const char* pass, const Json& deps, const Json& inputs,
                       const Json& scalars) {
    nodes.push_back({{"id", id},
                     {"op", op},
                     {"pass", pass},
                     {"ns", 4'000'000 * batch},
                     {"deps", deps},
                     {"inputs", inputs},
                     {"outputs", Json::array({map})},
                     {"scalars", scalars},
                     {"results", {{{"id", id + ".y"}, {"bytes", bytes}}}}});
  };
  std::string last = "x";
  for (int n = 0; n < kConvolutions; ++n) {
    const std::string number = std::to_string(n);
    add("c" + number, "aten.convolution.default", "forward", {last, "w"}, Json::array({map, weight}), forward);
    add("g" + number, "aten.swirl.default", "forward", Json::array({"c" + number + ".y"}), Json::array({map}),
        Json::array());
    last = "g" + number + ".y";
  }
  for (int n = kConvolutions; n-- > 0;) {
    const std::string number = std::to_string(n), below = n == 0 ? "x" : "g" + std::to_string(n - 1) + ".y";
    add("gb" + number, "aten.swirl_backward.default", "backward", {last, "c" + number + ".y"}, Json::array({map, map}),
        Json::array());
    add("cb" + number, "aten.convolution_backward.default", "backward", {"gb" + number + ".y", below, "w"},
        Json::array({map, map, weight}), back);
    last = "cb" + number + ".y";
  }
  const Json step = {
      {"format", "spillway-step"},
      {"version", 2},
      {"graph", "gelus"},
      {"samples", batch},
      {"source", {{"measured", "test"}}},
      {"error", 0.1},
      {"device", {{"type", "cpu"}, {"name", "EPYC"}, {"precision", "fp32"}}},
      {"values", {{{"id", "x"}, {"bytes", bytes}, {"class", "batch"}}, {{"id", "w"}, {"bytes", 147456}}}},
      {"nodes", nodes}};
  return step.dump();
}

TEST_CASE("a recording of a processor runs on two cards by their laws, and says so") {
  TemporaryFolder folder("retimed");
  folder.Write("step.json", Recording(64));
  const std::string file = folder.Write(
      "s.yaml", "name: s\nnetwork: {graph: step.json}\nmachines: [v100-x86-pcie3, h100-sxm]\nstrategies: in-core\n");
  const Outcome run = Spillway({"run", file, "--format", "json"});
  INFO(run.err);
  REQUIRE(run.status == 0);
  const Json rows = Json::parse(run.out)["results"];
  CHECK(rows[1]["step_time_s"].get<double>() < rows[0]["step_time_s"].get<double>());
  for (const Json& row : rows) {
    CHECK(row["published_share"].get<double>() + row["assumed_share"].get<double>() == Approx(1));
    CHECK(row["assumed_share"].get<double>() > 0.01);
    CHECK(row["step_time_low_s"].get<double>() < row["step_time_s"].get<double>());
    const std::string machine = row["machine"];
    CHECK(Contains(run.err, "recorded on EPYC (fp32), not on " + machine + ": 12 of 24 calls, "));
    CHECK(Contains(run.err, " by laws of " + machine + "; the rest is assumed: scaled by "));
  }
  CHECK(rows[0]["published_share"].get<double>() > 0.3);
  const Outcome table = Spillway({"run", file});
  CHECK(Contains(table.out, "assumed costs (up to "));
}

TEST_CASE("plan --machine: by the laws of a user's own card, within its memory") {
  TemporaryFolder folder("retimed");
  const std::string file = folder.Write("step.json", Recording(64));
  const std::string card = folder.Path("card.yaml");
  REQUIRE(Spillway({"machine", "--chip", "rtx-4090", "--host-memory", "64GB", "-o", card}).status == 0);
  const Outcome plan = Spillway({"plan", file, "--machine", card, "--memory", "1600MB"});
  INFO(plan.err);
  REQUIRE(plan.status == 0);
  CHECK(Contains(plan.err, "12 of 24 calls, "));
  CHECK(Contains(plan.out, "strategy: "));
}

TEST_CASE("show step --machine: whether it fits there, and how fast it is") {
  TemporaryFolder folder("retimed");
  const std::string file = folder.Write("step.json", Recording(64));
  const Outcome shown = Spillway({"show", "step", file, "--machine", "v100-x86-pcie3"});
  INFO(shown.out << shown.err);
  REQUIRE(shown.status == 0);
  CHECK(Contains(shown.out, "it fits as it is"));
  CHECK(Contains(shown.out, "\nstep on v100-x86-pcie3: "));
  CHECK(Contains(shown.out, " samples/s, everything on the device\n"));
  CHECK(Contains(shown.out, "12 of 24 calls, "));
  CHECK(Contains(shown.out, "of it by assumed costs"));
  const Outcome tight = Spillway({"show", "step", file, "--machine", "v100-x86-pcie3", "--memory", "1200MB"});
  CHECK(Contains(tight.out, "by a plan of best"));
  const Outcome none = Spillway({"show", "step", file, "--machine", "v100-x86-pcie3", "--memory", "750MB"});
  CHECK(Contains(none.out, "step on v100-x86-pcie3: no plan fits"));
  CHECK(Spillway({"show", "step", file, "--machine", "v100-x86-pcie4"}).status == 2);
}

}  // namespace
}  // namespace spillway
