// Recorded steps whose bytes are held longer than they are read: every plan is proved by verify, none beats the bounds, and
// none takes less than the footprint says that any plan needs.
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>

#include "model/recorded/footprint.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"

namespace spillway {
namespace {

// Some of the results with bytes of their own are held, up to a later node or the end.
std::string WithHolds(std::string text, std::uint64_t seed) {
  Random random(seed);
  const auto nodes = [&] {
    int count = 0;
    for (std::size_t at = 0; (at = text.find("\"op\"", at)) != std::string::npos; ++at) ++count;
    return count;
  }();
  for (std::size_t at = 0; (at = text.find("{\"id\": \"r", at)) != std::string::npos; ++at) {
    const std::size_t end = text.find('}', at);
    if (text.substr(at, end - at).find("bytes") == std::string::npos || random.Below(3) != 0) continue;
    const int maker = std::stoi(text.substr(at + 9));
    const int until = maker + static_cast<int>(random.Below(static_cast<std::uint32_t>(nodes - maker + 1)));
    text.insert(end, until == nodes ? R"(, "held_until": "end")" : fmt::format(R"(, "held_until": "n{}")", until));
  }
  return text;
}

struct HeldStep {
  explicit HeldStep(const std::string& text)
      : recorded(ReadRecordedStep(ParseDocument(text, "drawn.json"))),
        costs(machine, {.workspace_limit = kMostWorkspace}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = RuntimeByName("arena")};
    problem.capacity = 16 * kGB;
  }

  Machine machine = LoadMachine("unit");
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
};

}  // namespace

TEST_CASE("plans of steps with held bytes are proved, and need at least what the footprint says") {
  int plans = 0, beside = 0, pinned = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(100, 700); ++seed) {
    const std::string text = WithHolds(RecordedText(seed).Draw(), seed);
    INFO("seed " << seed << "\n" << text);
    const HeldStep drawn(text);
    const TrainingStep& step = drawn.recorded->step;
    const Footprint footprint = FootprintOf(*drawn.recorded);
    for (const RecordedCall& call : drawn.recorded->calls) beside += call.held > 0 ? 1 : 0;
    for (const Tensor& tensor : step.tensors) pinned += tensor.use == TensorClass::kAuxiliary ? 1 : 0;
    Random random(seed);
    for (const std::uint32_t percent : {0u, 40u, 100u}) {
      Runtime runtime;
      runtime.memory = MemoryModel::kPool;
      const Plan plan = RandomPlan(step, runtime, percent, random);
      Problem problem = drawn.problem;
      problem.runtime = runtime;
      const Evaluation e = Evaluate(plan, problem);  // throws where verify does not accept it
      if (!e.feasible) continue;
      ++plans;
      CHECK(e.live_peak_bytes >= footprint.LeastBytes());
      CHECK(e.bounds.Best() <= e.step_time);
    }
  }
  CHECK(plans > Cases(150, 1200));
  CHECK(beside > Cases(30, 250));
  CHECK(pinned > Cases(30, 250));
}

TEST_CASE("the footprint's peak is that of the engine, with everything on the device") {
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(60, 400); ++seed) {
    const std::string text = WithHolds(RecordedText(seed).Draw(), seed);
    INFO("seed " << seed << "\n" << text);
    const HeldStep drawn(text);
    Plan plan;
    plan.network = drawn.recorded->step.network;
    plan.batch = drawn.recorded->step.batch;
    plan.runtime.memory = MemoryModel::kPool;
    Problem problem = drawn.problem;
    problem.runtime = plan.runtime;
    const Evaluation e = Evaluate(plan, problem);
    REQUIRE(e.feasible);
    CHECK(e.live_peak_bytes <= FootprintOf(*drawn.recorded).PeakBytes());
  }
}

TEST_CASE("30,000 calls are read and simulated in seconds") {
  std::string text =
      R"({"graph": "long", "source": {"assumed": "a chain"}, "error": 0.1, "values": [{"id": "x", "bytes": 4096},
      {"id": "w", "bytes": 4096}], "nodes": [)";
  constexpr int kHalf = 15'000;
  for (int n = 0; n < kHalf; ++n) {
    text +=
        fmt::format(R"({{"id": "f{}", "op": "aten.mm.default", "module": "layer.{}", "ns": 20000, "deps": ["{}", "w"],
      "inputs": [{{"shape": [8, 128], "stride": [128, 1], "type": "float32"}}, {{"shape": [128, 128]}}], "scalars": [1, null],
      "results": [{{"id": "y{}", "bytes": 4096}}]}},)",
                    n, n / 10, n == 0 ? "x" : fmt::format("y{}", n - 1), n);
  }
  for (int n = kHalf; n-- > 0;) {
    text +=
        fmt::format(R"({{"id": "b{}", "op": "aten.mm.default", "pass": "backward", "ns": 40000, "deps": ["y{}", "{}"],
      "results": [{{"id": "g{}", "bytes": 4096}}]}}{})",
                    n, n, n + 1 == kHalf ? "w" : fmt::format("g{}", n + 1), n, n > 0 ? "," : "");
  }
  const std::clock_t start = std::clock();
  const HeldStep drawn(text + "]}");
  Plan plan;
  plan.network = "long";
  plan.batch = 1;
  plan.runtime = RuntimeByName("arena");
  EvaluateOptions options;
  options.bounds = false;
  const Evaluation e = Evaluate(plan, drawn.problem, options);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  REQUIRE(e.feasible);
  CHECK(e.step_time >= kHalf * 60'000);
  CHECK(e.peak_bytes >= kHalf * 4096);
  INFO("30,000 calls: " << seconds << " s of the processor");
  CHECK(seconds < 30);
}

}  // namespace spillway
