// DTR on recorded steps of the form in which planning problems are published, small ones drawn here
// (calibrate/published/case_graph.py makes such steps of published problems).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/recorded/recorded_step.h"
#include "model/util/random.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/strategies/dtr/dtr_play.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

using dtr::Event;
using dtr::Graph;
using dtr::Play;
using dtr::Trace;

// A step as planning problems are published: each op with one time and one result, nothing else. Forward is a chain with a
// skip over every third op; an op of backward reads what came back to it and what its forward op read and gave.
std::string ProblemText(int forward, Random& random) {
  std::string text =
      R"({"graph": "problem", "source": {"assumed": "drawn"}, "error": 0.1, "fixed_bytes": 4096, "nodes": [)";
  const auto add = [&](const std::string& id, const char* pass, const std::vector<std::string>& deps) {
    std::string reads;
    for (const std::string& dep : deps) reads += (reads.empty() ? "\"" : ", \"") + dep + "\"";
    text += fmt::format(R"({}{{"id": "{}", "op": "o", "pass": "{}", "ns": {}, "deps": [{}], )"
                        R"("results": [{{"id": "{}", "bytes": {}}}]}})",
                        text.ends_with('[') ? "" : ",\n", id, pass, 1000 + random.Below(9000), reads, id,
                        kAllocationUnit * static_cast<Bytes>(1 + random.Below(8)));
  };
  const auto reads_of = [](int n) {
    std::vector<std::string> reads;
    if (n > 0) reads.push_back(fmt::format("f{}", n - 1));
    if (n > 2 && n % 3 == 0) reads.push_back(fmt::format("f{}", n - 3));
    return reads;
  };
  for (int n = 0; n < forward; ++n) add(fmt::format("f{}", n), "forward", reads_of(n));
  for (int n = forward - 1; n >= 0; --n) {
    std::vector<std::string> reads = reads_of(n);
    reads.push_back(fmt::format("f{}", n));
    if (n + 1 < forward) reads.push_back(fmt::format("b{}", n + 1));
    add(fmt::format("b{}", n), "backward", reads);
  }
  return text + "]}\n";
}

// A recorded step whose ops have one result each, as DTR is told of it where there is nothing but ops and values.
Graph BareProblem(const TrainingStep& step, const CostModel& costs) {
  const auto ops = static_cast<OpId>(step.ops.size());
  const auto result_of = [&](OpId op) { return step.ops[Index(op)].writes.at(0); };
  std::vector<OpId> last(step.tensors.size(), kNoOp), given(step.tensors.size(), kNoOp);
  for (OpId op = 0; op < ops; ++op) {
    for (const TensorId t : step.ops[Index(op)].reads) last[Index(t)] = op;
    last[Index(result_of(op))] = std::max(last[Index(result_of(op))], op);
    given[Index(result_of(op))] = op;
  }
  Graph graph;
  graph.values.resize(step.tensors.size());
  for (OpId op = 0; op < ops; ++op) {
    const Op& o = step.ops[Index(op)];
    const Nanos time = costs.Kernel(LaunchOf(o)).time;
    std::vector<std::int32_t> reads = o.reads;  // in the order in which they are given
    std::sort(reads.begin(), reads.end(), [&](TensorId a, TensorId b) { return given[Index(a)] < given[Index(b)]; });
    graph.values[Index(result_of(op))] = {.bytes = step.tensors[Index(result_of(op))].bytes,
                                          .time = time,
                                          .may_leave = op < step.first_backward,
                                          .complete = op,
                                          .sources = reads};
    graph.events.push_back({.time = time, .needs = reads, .writes = {result_of(op)}});
    for (TensorId t = 0; t < static_cast<TensorId>(last.size()); ++t) {
      if (last[Index(t)] == op) graph.events.back().dies.push_back(t);
    }
  }
  return graph;
}

}  // namespace

// By the rule of memory of such problems: live bytes beside the fixed ones. What DTR itself does is played on the problem as
// it was drawn, without a step, and has to be what the strategy says of the recorded step.
TEST_CASE("on recorded steps it does what it does on the bare problem") {
  int compared = 0, again = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const std::string text = ProblemText(6 + static_cast<int>(seed % 20), random);
    const auto recorded = ReadRecordedStep(ParseDocument(text, "drawn.json"));
    const TrainingStep& step = recorded->step;
    const Machine machine = LoadMachine("unit");
    const RecordedCosts costs(machine, {}, recorded);
    const Graph bare = BareProblem(step, costs);
    Nanos once = 0;
    for (const Event& event : bare.events) once += event.time;
    const Bytes all = Play(bare, kGB).peak;
    for (const int percent : {90, 75, 60}) {
      Problem problem{.step = &step,
                      .costs = &costs,
                      .capacity = 4096 + all * percent / 100,
                      .use_runtime = true,
                      .runtime = RuntimeByName("paging")};
      const Planned planned = StrategyByName("dtr").plan(problem);
      const Trace trace = Play(bare, all * percent / 100);
      INFO("seed " << seed << " in " << percent << " %: " << planned.reason << planned.plan.search);
      REQUIRE(planned.feasible == (trace.failed < 0));
      if (!planned.feasible) continue;
      const double more = 100 * (static_cast<double>(trace.time) / static_cast<double>(once) - 1);
      CHECK_THAT(planned.plan.search, Catch::EndsWith(fmt::format("DTR itself +{:.2f} %", more)));
      const Evaluation e = Evaluate(planned.plan, problem);
      REQUIRE(e.feasible);
      CHECK(e.live_peak_bytes <= problem.capacity);
      CHECK(e.compute_time == trace.time);
      ++compared;
      again += trace.time > once ? 1 : 0;
    }
  }
  CHECK(compared > 60);
  CHECK(again > 40);
}

}  // namespace spillway
