#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/plan/plan_keys.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

using Json = nlohmann::json;

constexpr const char* kScenario =
    "name: small\nnetwork: {zoo: cifar-resnet20, batch: [64, 128]}\nmachines: v100-x86-pcie3\n"
    "strategies: [in-core, swap-all]\n";

class Dumps {
 public:
  Dumps() : folder_("dump"), file_(folder_.Write("s.yaml", kScenario)) {}
  Outcome Run(std::vector<std::string> words) const {
    words.insert(words.begin() + 2, file_);
    return Spillway(words);
  }
  Json Dump(const std::string& what, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"dump", what, "--batch", "64"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Run(words);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return Json::parse(outcome.out);
  }
  Json Row(const std::string& strategy) const {
    return Json::parse(
        Spillway({"run", file_, "--batch", "64", "--strategy", strategy, "--format", "json"}).out)["results"][0];
  }
  const TemporaryFolder& folder() const { return folder_; }
  const std::string& file() const { return file_; }

 private:
  TemporaryFolder folder_;
  std::string file_;
};

TEST_CASE("dump step: ops, tensors, sizes and times that hang together") {
  const Dumps dumps;
  const Json step = dumps.Dump("step");
  CHECK(step["format"] == "spillway-step");
  CHECK(step["version"] == 1);
  CHECK(step["network"] == "cifar-resnet20");
  CHECK(step["batch"] == 64);
  CHECK(step["machine"] == "v100-x86-pcie3");
  const auto& tensors = step["tensors"];
  const auto& ops = step["ops"];
  std::int64_t compute = 0, parameters = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    CHECK(ops[i]["id"] == i);
    CHECK(!ops[i]["writes"].empty());
    for (const char* list : {"reads", "writes"}) {
      for (const auto& id : ops[i][list]) CHECK(id < tensors.size());
    }
    compute += ops[i]["cost"]["time_ns"].get<std::int64_t>();
    CHECK(ops[i]["cost"]["workspace_bytes"] >= 0);
    const bool convolution = ops[i]["kind"] == "convolution";
    CHECK(ops[i]["cost"]["algorithm"].is_string() == convolution);
    CHECK(std::set<std::string>{"measured", "published", "assumed"}.count(ops[i]["cost"]["source"]) == 1);
  }
  std::set<std::string> uses;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    CHECK(tensors[t]["id"] == t);
    CHECK(tensors[t]["copy_in_ns"] > 0);
    CHECK(tensors[t]["buffer_bytes"] >= tensors[t]["bytes"]);
    const std::string use = tensors[t]["use"];
    CHECK(tensors[t]["persistent"] == (use == "parameter" || use == "optimizer_state"));
    if (use == "parameter") parameters += tensors[t]["bytes"].get<std::int64_t>();
    uses.insert(use);
  }
  CHECK(uses.size() > 5);
  CHECK(Contains(Spillway({"show", "network", "cifar-resnet20"}).out, std::to_string(parameters / 4) + " parameters"));
  CHECK(step["maps"].size() == dumps.Row("in-core")["keep"]);
  // In-core, without recomputation, the kernels take just that.
  CHECK(static_cast<double>(compute) * 1e-9 == Approx(dumps.Row("in-core")["compute_time_s"].get<double>()));
}

TEST_CASE("dump program: the instructions that were simulated, with their times") {
  const Dumps dumps;
  const Json program = dumps.Dump("program", {"--strategy", "swap-all"});
  const Json row = dumps.Row("swap-all");
  CHECK(program["format"] == "spillway-program");
  CHECK(program["strategy"] == "swap-all");
  CHECK(program["step_time_ns"].get<double>() * 1e-9 == Approx(row["step_time_s"].get<double>()));
  CHECK(program["peak_bytes"] == row["peak_bytes"]);
  std::map<std::string, int> count;
  std::int64_t end = 0, out = 0;
  const auto& code = program["instructions"];
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto& in = code[i];
    CHECK(in["id"] == i);
    CHECK(in["stream"] < program["streams"].size());
    ++count[in["opcode"]];
    if (!in.contains("duration_ns")) continue;
    CHECK(in["end_ns"].get<std::int64_t>() - in["start_ns"].get<std::int64_t>() >= in["duration_ns"]);
    end = std::max(end, in["end_ns"].get<std::int64_t>());
    if (in["opcode"] == "copy" && in["direction"] == "device_to_host") out += in["bytes"].get<std::int64_t>();
    if (in["opcode"] == "kernel") {
      for (const auto& operand : in["operands"]) CHECK(operand["buffer"] < program["buffers"].size());
    }
  }
  CHECK(count["copy"] > 0);
  CHECK(count["alloc"] == count["free"]);
  CHECK(count["record"] == program["events"]);
  CHECK(end <= program["step_time_ns"]);
  CHECK(out == row["bytes_out"]);
}

TEST_CASE("dump plan: the best one's decisions, or those of a plan file") {
  const Dumps dumps;
  const Json plan = dumps.Dump("plan", {"--strategy", "swap-all"});
  CHECK(plan["format"] == "spillway-plan");
  CHECK(plan["network"] == "cifar-resnet20");
  const Json step = dumps.Dump("step");
  int swaps = 0;
  for (const auto& gap : plan["gaps"]) {
    swaps += gap["action"] == "swap" ? 1 : 0;
    CHECK(step["tensors"][gap["tensor_id"].get<std::size_t>()]["name"] == gap["tensor"]);
    CHECK(step["ops"][gap["before_id"].get<std::size_t>()]["name"] == gap["before"]);
  }
  CHECK(swaps == dumps.Row("swap-all")["swap"]);
  const std::string file = dumps.folder().Path("p.yaml");
  REQUIRE(Spillway({"plan", dumps.file(), "--batch", "64", "--strategy", "swap-all", "-o", file}).status == 0);
  CHECK(dumps.Dump("plan", {"--plan", file}) == plan);
}

TEST_CASE("dump plan: the runtime has every key of a plan file's, with its value") {
  const TemporaryFolder folder("dump-runtime");
  const std::string file = folder.Write(
      "s.yaml",
      Replaced(kScenario, "[64, 128]", "64") +
          "runtime: {name: own, from: pooch, collection_time: 3 ms, framework_time: 2 us, copy_chunk: 64 KiB, "
          "swap_in_waits: backward_layer, backward_units: break_points}\n");
  const Outcome outcome = Spillway({"dump", "plan", file, "--strategy", "swap-all"});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const Json runtime = Json::parse(outcome.out)["runtime"];
  std::set<std::string> dumped, wanted;
  for (const auto& [key, value] : runtime.items()) dumped.insert(key);
  for (const KeyRow& row : RuntimeKeys().keys) {
    const char* const unit = row.value == kADuration ? "_ns" : row.value == kASize ? "_bytes" : "";
    wanted.insert(row.name + unit);
  }
  CHECK(dumped == wanted);
  CHECK(runtime["swap_in_waits"] == "backward_layer");
  CHECK(runtime["backward_units"] == "break_points");
  CHECK(runtime["collection_time_ns"] == 3'000'000);
  CHECK(runtime["framework_time_ns"] == 2000);
  CHECK(runtime["copy_chunk_bytes"] == 65536);
}

TEST_CASE("dump program and plan: ops in parts, with the boxes that they touch") {
  const Dumps dumps;
  const std::string plan = dumps.folder().Write(
      "plan.yaml",
      "strategy: mine\nnetwork: cifar-resnet20\nbatch: 64\nmachine: v100-x86-pcie3\ncapacity: 14 GB\n"
      "ops:\n  - {op: \"conv1:forward\", parts: [{samples: 24, times: 2}, {samples: 16, algorithm: implicit_gemm}]}\n");
  const Json dumped = dumps.Dump("plan", {"--plan", plan}), &decisions = dumped["ops"];
  REQUIRE(decisions.size() == 1);
  REQUIRE(decisions[0]["parts"].size() == 3);
  CHECK(decisions[0]["parts"][1] == Json({{"samples", 24}, {"algorithm", nullptr}, {"workspace_bytes", 0}}));
  CHECK(decisions[0]["parts"][2]["algorithm"] == "implicit_gemm");
  std::vector<Json> boxes;
  const Json program = dumps.Dump("program", {"--plan", plan});
  for (const auto& in : program["instructions"]) {
    if (in["opcode"] == "kernel" && in["name"] == "conv1:forward") boxes.push_back(in["operands"][0]["box"]);
  }
  REQUIRE(boxes.size() == 3);
  CHECK(boxes[0]["begin"] == Json({0, 0, 0, 0, 0}));
  CHECK(boxes[0]["end"] == Json({24, 3, 1, 32, 32}));
  CHECK(boxes[2]["begin"][0] == 48);
  CHECK(boxes[2]["end"][0] == 64);
}

TEST_CASE("a dump to standard output is that of a file, whatever names hold") {
  const TemporaryFolder folder("dump-names");
  const std::string file = folder.Write("s.yaml", Replaced(Replaced(kScenario, "[64, 128]", "64"), "v100-x86-pcie3",
                                                           "{name: \"odd \\x7f \\x9b\", from: v100-x86-pcie3}"));
  const Outcome out = Spillway({"dump", "step", file});
  INFO(out.err);
  REQUIRE(out.status == 0);
  REQUIRE(Spillway({"dump", "step", file, "-o", folder.Path("step.json")}).status == 0);
  CHECK(out.out == folder.Read("step.json"));
  CHECK(Json::parse(out.out)["machine"] == "odd \x7f \xc2\x9b");
  CHECK(Contains(out.out, "\x7f"));
}

TEST_CASE("dump: one point, a known thing, a file where one is wanted") {
  const Dumps dumps;
  const Outcome several = dumps.Run({"dump", "step"});
  CHECK(several.status == 2);
  CHECK(Contains(several.err, "dump: the scenario has more than one point"));
  const Outcome unknown = dumps.Run({"dump", "steps"});
  CHECK(unknown.status == 2);
  CHECK(Contains(unknown.err, "dump: unknown topic 'steps'; did you mean 'step'?"));
  CHECK(dumps.Run({"dump", "program", "--batch", "64", "--memory", "1 MB"}).status == 3);
  const std::string file = dumps.folder().Path("step.json");
  const Outcome written = dumps.Run({"dump", "step", "--batch", "64", "-o", file});
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  CHECK(Json::parse(dumps.folder().Read("step.json")) == dumps.Dump("step"));
}

}  // namespace
}  // namespace spillway
