// Recorded steps without a scenario: `plan STEP.json` and `show step`, and what is said of a recording on another device.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

constexpr int kLayers = 12;

Json Node(const std::string& id, const char* pass, const std::string& module, int ns, const Json& deps,
          const Json& results) {
  return {{"id", id},     {"op", "aten.relu.default"}, {"pass", pass}, {"module", module}, {"ns", ns},
          {"deps", deps}, {"results", results}};
}

// A chain: layers of 100 MB at batch 4, of which backward reads each.
Json Chain(int batch, const Json& device, bool link) {
  Json nodes = Json::array();
  const std::int64_t map = 25'000'000LL * batch;
  for (int n = 0; n < kLayers; ++n) {
    const std::string before = n == 0 ? "x" : "y" + std::to_string(n - 1), number = std::to_string(n);
    nodes.push_back(Node("f" + number, "forward", "body." + number, 1'000'000, {before, "w"},
                         {{{"id", "y" + number}, {"bytes", map}}}));
  }
  for (int n = kLayers; n-- > 0;) {
    const std::string number = std::to_string(n), above = n + 1 == kLayers ? "w" : "g" + std::to_string(n + 1);
    nodes.push_back(Node("b" + number, "backward", "body." + number, 2'000'000, {"y" + number, above},
                         {{{"id", "g" + number}, {"bytes", map}}}));
  }
  Json machine = {{"memory_bytes", 4'000'000'000}, {"host_memory_bytes", 64'000'000'000}, {"call_ns", 5000}};
  if (link) machine.update({{"copy_in_bytes_per_s", 12e9}, {"copy_out_bytes_per_s", 12e9}});
  Json step = {{"format", "spillway-step"},
               {"version", 2},
               {"graph", "chain"},
               {"samples", batch},
               {"source", {{"measured", "test"}}},
               {"error", 0.05},
               {"machine", machine},
               {"values", {{{"id", "x"}, {"bytes", 4096}, {"class", "batch"}}, {{"id", "w"}, {"bytes", 1'000'000}}}},
               {"nodes", nodes}};
  if (!device.is_null()) step["device"] = device;
  return step;
}

const Json kGpu = {{"type", "cuda"}, {"name", "Tesla V100-SXM2-16GB"}, {"precision", "fp32"}};
const Json kCpu = {{"type", "cpu"}, {"name", "EPYC"}, {"precision", "fp32"}};

TEST_CASE("a recorded step is planned without a profile, within what its card leaves") {
  TemporaryFolder folder("step");
  const std::string file = folder.Write("step.json", Chain(4, kGpu, true).dump());
  const std::string plan = folder.Path("p.yaml");
  const Outcome fits = Spillway({"plan", file, "-o", plan});
  INFO(fits.err);
  REQUIRE(fits.status == 0);
  CHECK(Contains(fits.err,
                 "memory: 4.00 GB less 805 MB of context, 0 B of workspace and 400 MB of margin leave 2.79 GB"));
  CHECK(Contains(folder.Read("p.yaml"), "strategy: in-core"));
  const Outcome tight = Spillway({"plan", file, "--memory", "1700MB", "-o", plan});
  INFO(tight.err);
  REQUIRE(tight.status == 0);
  CHECK(Contains(folder.Read("p.yaml"), "strategy: best"));
  CHECK(Contains(folder.Read("p.yaml"), "machine: \"Tesla V100-SXM2-16GB\""));
  CHECK_FALSE(Contains(tight.err, "warning"));
  const Outcome more = Spillway({"plan", file, "--memory", "1700MB", "--margin", "0", "-o", plan});
  CHECK(Contains(more.err, "0 B of margin leave 895 MB"));
  CHECK(Spillway({"plan", file, "--memory", "600MB"}).status == 2);
  CHECK(Spillway({"plan", file, "--memory", "lots"}).status == 2);
  CHECK(Spillway({"plan", file, "--batch", "8"}).status == 2);
}

TEST_CASE("show step --html: a page with the memory by module, beside the same table") {
  TemporaryFolder folder("step");
  const std::string file = folder.Write("step.json", Chain(4, kCpu, false).dump());
  const Outcome plain = Spillway({"show", "step", file, "--memory", "1700MB"});
  const Outcome shown = Spillway({"show", "step", file, "--memory", "1700MB", "--html", folder.Path("step.html")});
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  CHECK(shown.out == plain.out);
  CHECK(Contains(shown.out, "body.11"));
  CHECK(Contains(folder.Read("step.html"), "data-file=\"memory.json\""));
  CHECK(Contains(shown.out, "workspace of matrix products"));
  CHECK(Contains(shown.out, "peak there by these assumptions: "));
  CHECK(Spillway({"show", "step", file, "--html", file}).status == 2);
  CHECK(Spillway({"show", "network", "vgg16", "--html", folder.Path("n.html")}).status == 2);
}

TEST_CASE("without a link a plan only recomputes; --link lets it swap") {
  TemporaryFolder folder("step");
  const std::string file = folder.Write("step.json", Chain(4, kCpu, false).dump());
  const Outcome alone = Spillway({"plan", file, "--memory", "1700MB"});
  INFO(alone.err);
  REQUIRE(alone.status == 0);
  CHECK(Contains(alone.err, "no link was measured: nothing is swapped"));
  CHECK(Contains(alone.err, "on a GPU: workspace of matrix products"));
  CHECK(Contains(alone.out, "action: recompute"));
  CHECK_FALSE(Contains(alone.out, "action: swap"));
  const Outcome linked = Spillway({"plan", file, "--memory", "1700MB", "--link", "300GB/s"});
  REQUIRE(linked.status == 0);
  CHECK(Contains(linked.out, "action: swap"));
  CHECK(Spillway({"plan", file, "--link", "fast"}).status == 2);
}

TEST_CASE("on a machine with another device, times are assumed and said to be") {
  TemporaryFolder folder("step");
  folder.Write("gpu.json", Chain(4, kGpu, true).dump());
  folder.Write("cpu.json", Chain(4, kCpu, false).dump());
  folder.Write("none.json", Chain(4, nullptr, false).dump());
  const auto run = [&](const std::string& graph) {
    const std::string file =
        folder.Write("s.yaml", "name: s\nnetwork: {graph: " + graph +
                                   "}\nmachines: [v100-x86-pcie3, h100-sxm]\nstrategies: in-core\n");
    const Outcome outcome = Spillway({"run", file, "--format", "json"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return std::pair{Json::parse(outcome.out)["results"], outcome.err};
  };
  const auto [gpu, of_gpu] = run("gpu.json");
  CHECK(gpu[0]["cost_source"] == "measured");
  CHECK(gpu[1]["cost_source"] == "assumed");
  CHECK(gpu[1]["step_time_s"].get<double>() < 0.4 * gpu[0]["step_time_s"].get<double>());
  CHECK(Contains(of_gpu, "recorded on Tesla V100-SXM2-16GB (fp32), not on h100-sxm"));
  CHECK_FALSE(Contains(of_gpu, "not on v100"));
  const auto [cpu, of_cpu] = run("cpu.json");
  CHECK(cpu[0]["cost_source"] == "assumed");
  CHECK(cpu[1]["step_time_s"].get<double>() < cpu[0]["step_time_s"].get<double>());
  const auto [none, of_none] = run("none.json");
  CHECK(none[0]["cost_source"] == "assumed");
  CHECK(Contains(of_none, "the recording does not name its device"));
}

TEST_CASE("show step says whether it fits, and what binds") {
  TemporaryFolder folder("step");
  const std::string four = folder.Write("four.json", Chain(4, kGpu, true).dump());
  const std::string eight = folder.Write("eight.json", Chain(8, kGpu, true).dump());
  const Outcome shown = Spillway({"show", "step", four, eight, "--memory", "4GB"});
  INFO(shown.out << shown.err);
  REQUIRE(shown.status == 0);
  CHECK(Contains(shown.out, "peak with everything on the device: 1.30 GB at b11 (backward, in body.11)"));
  CHECK(Contains(shown.out,
                 "the least that any plan with parameters and states on the device can need: 301 MB at b10 (backward, "
                 "in body.10), whose operands alone take 300 MB"));
  CHECK(Contains(shown.out, "it fits as it is"));
  CHECK(Contains(shown.out,
                 "the largest batch there: 8 with everything on the device, at most 37 by any plan with parameters "
                 "and states there"));
  CHECK(Contains(shown.out, "a smaller patch or batch"));
  CHECK(Contains(Spillway({"show", "step", four, "--memory", "1500MB"}).out, "it does not fit as it is; a plan may"));
  CHECK(Contains(Spillway({"show", "step", four, "--memory", "1100MB"}).out,
                 "no plan with parameters and states on the device fits"));
  CHECK(Contains(Spillway({"show", "step", four, four, "--memory", "4GB"}).err, "both recordings have batch 4"));
  CHECK(Spillway({"show", "strategy", "best", "--memory", "4GB"}).status == 2);
}

}  // namespace
}  // namespace spillway
