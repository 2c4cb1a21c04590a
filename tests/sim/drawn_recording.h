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
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/recorded/recorded_step.h"
#include "model/util/random.h"
#include "sim/certify/certificate.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/program.h"
#include "sim/strategies/strategies.h"

namespace spillway {

// How long an op takes, as keys of its node: `random` draws, `forward` tells the pass.
using DrawTimes = std::function<std::string(Random& random, bool forward)>;

inline std::string DrawnTime(Random& random, bool /*forward*/) {
  return fmt::format("\"ns\": {}", 512 * random.Between(1, 6));
}

// A drawn recording of ops that each write one value of some units. Forward ops read up to three earlier results. Backward
// ops read the result of the op before and up to two results of forward.
inline std::string DrawnText(std::uint64_t seed, std::int32_t ops = 6, const DrawTimes& draw_times = DrawnTime) {
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
    const Bytes bytes = kAllocationUnit * random.Between(1, 4);
    const std::string times = draw_times(random, n < forward);
    text += fmt::format(
        R"({}{{"id": "n{}", "op": "x"{}, {}, "deps": [{}], "results": [{{"id": "v{}", "bytes": {}}}]}})",
        n > 0 ? ", " : "", n, n >= forward ? ", \"pass\": \"backward\"" : "", times, fmt::join(deps, ", "), n, bytes);
  }
  return text + "]}";
}

// A drawn recording of two values that stay on the device, three forward ops, two backward ops and updates in place of one
// or both values. Ops read these values and earlier results at will.
inline std::string DrawnStatesText(std::uint64_t seed) {
  Random random(seed);
  const auto bytes = [&random](std::int32_t most) { return kAllocationUnit * random.Between(1, most); };
  const auto quoted = [](const std::string& name) { return '"' + name + '"'; };
  std::string text = R"({"graph": "drawn", "source": {"assumed": "drawn"}, "error": 0, "values": [)";
  text += fmt::format(R"({{"id": "w0", "bytes": {}}}, )", bytes(2));
  text += fmt::format(R"({{"id": "w1", "bytes": {}}}], "nodes": [)", bytes(2));
  const std::int32_t forward = 3, ops = 5;
  for (std::int32_t n = 0; n < ops; ++n) {
    std::vector<std::string> deps;
    if (n > 0) deps.push_back(quoted(fmt::format("v{}", n - 1)));
    const bool another = n > 1 && random.Below(2) == 0;
    if (another) deps.push_back(quoted(fmt::format("v{}", random.Between(0, n - 2))));
    for (const char* value : {"w0", "w1"}) {
      if (random.Below(3) == 0) deps.push_back(quoted(value));
    }
    text += fmt::format(R"({}{{"id": "n{}", "op": "x"{}, )", n > 0 ? ", " : "", n,
                        n >= forward ? R"(, "pass": "backward")" : "");
    text += DrawnTime(random, n < forward);
    text += fmt::format(R"(, "deps": [{}], "results": [{{"id": "v{}", "bytes": {}}}]}})", fmt::join(deps, ", "), n,
                        bytes(4));
  }
  const std::uint32_t updated = 1 + random.Below(3);  // a bit each
  for (std::uint32_t k = 0; k < 2; ++k) {
    if ((updated >> k & 1) == 0) continue;
    text += fmt::format(R"(, {{"id": "u{0}", "op": "u", "pass": "update", {1}, "deps": ["w{0}", "v{2}"], )", k,
                        DrawnTime(random, false), ops - 1);
    text += fmt::format(R"("results": [{{"id": "new{0}", "in_place": "w{0}"}}]}})", k);
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
  // Each op once, in its fastest way.
  Nanos Kernels() const {
    Nanos sum = 0;
    for (const std::vector<RecordedWay>& ways : recorded->ways) {
      const auto faster = [](const RecordedWay& a, const RecordedWay& b) { return a.time < b.time; };
      sum += std::min_element(ways.begin(), ways.end(), faster)->time;
    }
    return sum;
  }
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

// How many of five claims above the optimum of all schedules are refused: such a claim is false, whatever it rests on.
inline int FalseClaimsRefused(const DrawnRecording& r, const BoundCertificate& found, Nanos optimum, Random& random) {
  int refused = 0;
  for (int k = 0; k < 5; ++k) {
    BoundCertificate wrong = found;
    wrong.bound = optimum + 1 + static_cast<Nanos>(random.Below(2000));
    if (k > 0) wrong.op = static_cast<OpId>(random.Below(static_cast<std::uint32_t>(r.step().ops.size())));
    if (k > 1) wrong.price = random.Below(9) / 4.0;
    if (k > 2) wrong.before = random.Below(5) / 4.0;
    if (k > 3) wrong.after = random.Below(5) / 4.0;
    refused += ProvenBound(r.step(), r.costs, wrong) < wrong.bound ? 1 : 0;
  }
  return refused;
}

// Bytes without addresses, a copy stream each way.
inline Runtime Live() {
  Runtime runtime = RuntimeByName("paging");
  runtime.copy_streams = 2;
  return runtime;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_DRAWN_RECORDING_H_
