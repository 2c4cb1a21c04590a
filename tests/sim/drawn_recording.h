// Small recorded steps drawn at random, whose optimum can be searched for: one result an op, times and bytes in multiples
// of 512. On the machine `unit`, where a copy takes a nanosecond a byte and slows nothing down.
//
//   DrawnRecording r(DrawnText(seed), Live());
//   r.Best(4 * kKiB, false)                       the plan of `best` without copies
#ifndef SPILLWAY_TESTS_SIM_DRAWN_RECORDING_H_
#define SPILLWAY_TESTS_SIM_DRAWN_RECORDING_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/recorded/recorded_step.h"
#include "model/util/random.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/program.h"
#include "sim/strategies/strategies.h"

namespace spillway {

// A recording of ops that each write one value of some units, drawn: forward ops read up to three earlier results,
// backward ops the one before them and up to two results of forward.
inline std::string DrawnText(std::uint64_t seed, std::int32_t ops = 6) {
  Random random(seed);
  const std::int32_t forward = random.Between(ops - 3, ops - 2);
  std::string text = R"({"graph": "drawn", "source": {"assumed": "drawn"}, "error": 0, "nodes": [)";
  for (std::int32_t n = 0; n < ops; ++n) {
    std::vector<std::string> deps;
    if (n > 0) deps.push_back(fmt::format("\"v{}\"", n - 1));
    for (std::uint32_t k = random.Below(3); k > 0 && n > 1; --k) {
      const std::string dep = fmt::format("\"v{}\"", random.Below(static_cast<std::uint32_t>(std::min(n, forward))));
      if (std::find(deps.begin(), deps.end(), dep) == deps.end()) deps.push_back(dep);
    }
    text += fmt::format(
        R"({}{{"id": "n{}", "op": "x"{}, "ns": {}, "deps": [{}], "results": [{{"id": "v{}", "bytes": {}}}]}})",
        n > 0 ? ", " : "", n, n >= forward ? ", \"pass\": \"backward\"" : "", 512 * random.Between(1, 6),
        fmt::join(deps, ", "), n, kAllocationUnit * random.Between(1, 4));
  }
  return text + "]}";
}

struct DrawnRecording {
  DrawnRecording(const std::string& text, const Runtime& runtime)
      : recorded(ReadRecordedStep(ParseDocument(text, "drawn.json"))), costs(machine, {}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = runtime};
    for (const Op& op : recorded->step.ops) times.push_back(costs.Kernel(LaunchOf(op), 0).time);
  }
  DrawnRecording(const DrawnRecording&) = delete;
  const TrainingStep& step() const { return recorded->step; }
  Nanos Kernels() const { return std::accumulate(times.begin(), times.end(), Nanos{0}); }
  Planned Best(Bytes capacity, bool swap) {
    problem.capacity = capacity;
    problem.parameters = {};
    problem.parameters.Set("swap", swap);
    return StrategyByName("best").plan(problem);
  }

  Machine machine = LoadMachine("unit");
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
  std::vector<Nanos> times;
};

// Bytes without addresses, a copy stream each way.
inline Runtime Live() {
  Runtime runtime = RuntimeByName("paging");
  runtime.copy_streams = 2;
  return runtime;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_DRAWN_RECORDING_H_
