// Times of a recording on a machine with another device: by laws where a call is known, the rest scaled as the others are.
#include "model/recorded/carried_ways.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hw/text/document.h"
#include "model/cost/menu.h"
#include "model/recorded/recorded_step.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

constexpr int kConvolutionCall = 0, kReluCall = 1, kGeluCall = 2, kBmmCall = 3, kEmptyCall = 4, kBackCall = 5;
constexpr double kConvolutionNs = 8e6, kReluNs = 4e6, kGeluNs = 5e6, kBmmNs = 3e6;

Json Sized(const Json& shape) { return {{"shape", shape}, {"type", "float32"}}; }

Json Node(const char* id, const char* op, const char* pass, double ns, const Json& inputs, const Json& outputs,
          const Json& scalars) {
  return {{"id", id},
          {"op", op},
          {"pass", pass},
          {"ns", ns},
          {"deps", Json::array({"x"})},
          {"inputs", inputs},
          {"outputs", outputs},
          {"scalars", scalars},
          {"results", {{{"id", std::string(id) + ".y"}, {"bytes", 4096}}}}};
}

// A convolution, a ReLU, and two calls that no law knows: one of each class. `device`: that was recorded.
std::shared_ptr<const RecordedStep> Recording(const char* device = "EPYC", bool shapes = true) {
  const Json map = Sized({8, 64, 56, 56}), weight = Sized({64, 64, 3, 3}), batch = Sized({16, 64, 64});
  const Json window = {1, 1, 1, 1, 1, 1, false, 0, 0, 1};
  Json scalars = window, back = window;
  scalars.insert(scalars.begin(), nullptr);
  back.insert(back.begin(), 0);
  for (const bool made : {true, true, false}) back.push_back(made);
  Json nodes = {
      Node("conv", "aten.convolution.default", "forward", kConvolutionNs, Json::array({map, weight}),
           Json::array({map}), scalars),
      Node("relu", "aten.relu_.default", "forward", kReluNs, Json::array({map}), Json::array({map}), Json::array()),
      Node("gelu", "aten.swirl.default", "forward", kGeluNs, Json::array({map}), Json::array({map}), Json::array()),
      Node("bmm", "aten.matmul.default", "forward", kBmmNs, Json::array({batch, batch}), Json::array({batch}),
           Json::array()),
      Node("empty", "aten.empty_like.default", "forward", 3000, Json::array({map}), Json::array({map}), Json::array()),
      Node("back", "aten.convolution_backward.default", "backward", 2 * kConvolutionNs, Json::array({map, map, weight}),
           Json::array({map}), back)};
  nodes[kReluCall]["recompute_ns"] = kReluNs / 4;
  for (Json& node : nodes) {
    if (shapes) continue;
    for (const char* key : {"inputs", "outputs", "scalars"}) node.erase(key);
  }
  const bool gpu = std::string(device) != "EPYC";
  const Json step = {{"format", "spillway-step"},
                     {"version", 2},
                     {"graph", "g"},
                     {"samples", 8},
                     {"source", {{"measured", "test"}}},
                     {"error", 0.1},
                     {"device", {{"type", gpu ? "cuda" : "cpu"}, {"name", device}, {"precision", "fp32"}}},
                     {"values", {{{"id", "x"}, {"bytes", 4096}, {"where", "host"}}}},
                     {"nodes", nodes}};
  return ReadRecordedStep(ParseDocument(step.dump(), "step.json"));
}

Launch LaunchAt(const RecordedStep& recorded, int op) {
  return LaunchOf(recorded.step.ops[static_cast<std::size_t>(op)]);
}

Nanos Law(const CostModel& laws, const RecordedStep& recorded, int op, Bytes workspace) {
  Nanos time = 0;
  for (Launch launch : *recorded.calls[static_cast<std::size_t>(op)].launches) {
    launch.workspace = workspace;
    time += laws.Kernel(launch).time;
  }
  return time;
}

}  // namespace

TEST_CASE("known calls take what the laws of another machine say, with source and error") {
  const auto recorded = Recording();
  for (const char* name : {"v100-x86-pcie3", "h100-sxm", "unit"}) {
    INFO(name);
    const Machine machine = LoadMachine(name);
    const CostModel laws(machine);
    const RecordedCosts costs(machine, {.workspace_limit = kMostWorkspace}, recorded);
    for (const int op : {kConvolutionCall, kReluCall, kBackCall}) {
      CHECK(costs.Kernel(LaunchAt(*recorded, op)).time == Law(laws, *recorded, op, kGiB));
    }
    const Launch relu = recorded->calls[kReluCall].launches->front();
    const Cost cost = costs.Kernel(LaunchAt(*recorded, kReluCall));
    CHECK(cost.source == laws.Kernel(relu).source);
    CHECK(cost.error == laws.Kernel(relu).error);
    CHECK(cost.group == laws.Kernel(relu).group);
    CHECK(std::string(cost.how) == laws.Kernel(relu).how);
    CHECK(costs.Kernel(LaunchAt(*recorded, kEmptyCall)).time == 0);
    CHECK(costs.Kernel(RecomputationOf(recorded->step.ops[kReluCall])).time ==
          std::llround(static_cast<double>(cost.time) / 4));
  }
}

TEST_CASE("a call of several passes has the ways of all, each with the workspace that they share") {
  const auto recorded = Recording();
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel laws(machine);
  const RecordedCosts costs(machine, {.workspace_limit = kMostWorkspace}, recorded);
  for (const int op : {kConvolutionCall, kBackCall}) {
    Launch launch = LaunchAt(*recorded, op);
    const std::vector<MenuEntry> menu = costs.Menu(launch);
    CHECK(ParetoSet(menu).size() > 1);
    for (const Bytes granted : {Bytes{0}, kMiB, 8 * kMiB, 64 * kMiB, kGiB}) {
      launch.workspace = granted;
      const Cost cost = costs.Kernel(launch);
      CHECK(cost.workspace <= granted);
      CHECK(cost.time == Law(laws, *recorded, op, granted));
    }
  }
}

TEST_CASE("calls without a law are scaled as the others of their class were, assumed, with wide errors") {
  const auto recorded = Recording();
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const RecordedCosts costs(machine, {.workspace_limit = kMostWorkspace}, recorded);
  const auto time = [&](int op) { return static_cast<double>(costs.Kernel(LaunchAt(*recorded, op)).time); };
  const CarriedTimes& carried = costs.carried();
  CHECK(carried.by_bytes == Approx(time(kReluCall) / kReluNs));
  CHECK(time(kGeluCall) == Approx(carried.by_bytes * kGeluNs).margin(1));
  const double forward = std::log(time(kConvolutionCall) / kConvolutionNs),
               back = std::log(time(kBackCall) / 2 / kConvolutionNs);
  CHECK(carried.by_flops == Approx(std::exp((forward + 2 * back) / 3)));
  CHECK(time(kBmmCall) == Approx(carried.by_flops * kBmmNs).margin(1));
  for (const int op : {kGeluCall, kBmmCall}) {
    const Cost cost = costs.Kernel(LaunchAt(*recorded, op));
    CHECK(cost.source == Source::Kind::kAssumed);
    CHECK(std::string(cost.how) == "recorded, scaled");
    CHECK(cost.error >= std::hypot(0.1, op == kBmmCall ? kProductsError : kOthersError));
  }
  CHECK(carried.calls == 6);
  CHECK(carried.by_laws == 4);
  const double laws = time(kConvolutionCall) + time(kReluCall) + time(kBackCall);
  CHECK(carried.law_share == Approx(laws / (laws + time(kGeluCall) + time(kBmmCall))));
  CHECK(Contains(carried.note, "recorded on EPYC (fp32), not on v100-x86-pcie3: 4 of 6 calls, "));
  CHECK(Contains(carried.note, " % of the time there, by laws of v100-x86-pcie3; the rest is assumed: scaled by "));
  CHECK(Contains(carried.note, "(ratio of the others)"));
}

TEST_CASE("what a scenario emulates slows laws and scaled calls alike") {
  const auto recorded = Recording();
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const RecordedCosts usual(machine, {.workspace_limit = kMostWorkspace}, recorded);
  const RecordedCosts slower(machine, {.workspace_limit = kMostWorkspace, .compute_slowdown = 3}, recorded);
  for (const int op : {kConvolutionCall, kReluCall, kGeluCall, kBmmCall, kBackCall}) {
    const Launch launch = LaunchAt(*recorded, op);
    CHECK(static_cast<double>(slower.Kernel(launch).time) ==
          Approx(3 * static_cast<double>(usual.Kernel(launch).time)).margin(3));
  }
  CHECK(usual.carried().by_bytes == slower.carried().by_bytes);
}

TEST_CASE("on its own device, and without shapes, a recording is what it was") {
  const auto recorded = Recording("Tesla V100-SXM2-16GB");
  const Machine v100 = LoadMachine("v100-x86-pcie3"), h100 = LoadMachine("h100-sxm");
  const RecordedCosts own(v100, {.workspace_limit = kMostWorkspace}, recorded);
  CHECK(own.carried().note.empty());
  CHECK(own.Kernel(LaunchAt(*recorded, kConvolutionCall)).time == std::llround(kConvolutionNs));
  CHECK(own.Kernel(LaunchAt(*recorded, kEmptyCall)).time == 3000);
  CHECK(std::string(own.Kernel(LaunchAt(*recorded, kReluCall)).how) == "recorded");
  const auto bare = Recording("Tesla V100-SXM2-16GB", false);
  const RecordedCosts sheets(h100, {.workspace_limit = kMostWorkspace}, bare);
  CHECK(sheets.carried().by_laws == 1);  // the call without a kernel
  CHECK(sheets.carried().by_bytes == Approx(900.0 / 3350));
  CHECK(Contains(sheets.carried().note, "the ratios of peaks and of bandwidths"));
  CHECK(sheets.Kernel(LaunchAt(*bare, kReluCall)).time == std::llround(kReluNs * 900 / 3350));
  CHECK(sheets.Kernel(LaunchAt(*bare, kReluCall)).source == Source::Kind::kAssumed);
}

}  // namespace spillway
