// Trains networks on the CPU device through Execute(), and tells whether two runs did the same.
#ifndef SPILLWAY_TESTS_CPU_TRAINING_H_
#define SPILLWAY_TESTS_CPU_TRAINING_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/devices/cpu/device.h"
#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/ops/values.h"
#include "model/profile/launch_text.h"
#include "model/step/launch.h"
#include "model/unroll/unroll.h"
#include "sim/evaluate/evaluation.h"
#include "sim/execute/clock.h"
#include "sim/execute/execute.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "sim/verify/verify.h"
#include "tests/deep.h"

namespace spillway {

// A machine on which computing a network of this size takes about as long as moving it. Every convolution is granted the
// workspace of the algorithm that wants least, and is known to be computed by it: there is something to gain by moving.
inline Machine MachineFor(const TrainingStep& step) {
  Machine machine = LoadMachine("unit");
  Device& device = machine.devices[0];
  device.peak_flops = 100;
  device.memory_bandwidth = 10;
  CpuKernels kernels;
  std::set<std::string> known;
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    OpCall call = CallOf(step.ops[Index(op)]);
    if (!HasAlgorithms(call.launch.kind)) continue;
    call.launch = AsConvolution(call.launch);
    const std::vector<CpuAlgorithm> all = kernels.Algorithms(call);
    const CpuAlgorithm least = *std::min_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.workspace < b.workspace; });
    call.launch.algorithm = least.algorithm;
    MeasuredOp measured = MeasuredOpOf(call.launch);
    if (!known.insert(PassName(measured.pass) + measured.shape + (measured.accumulate ? "+" : "")).second) continue;
    measured.time = static_cast<Nanos>(CountWork(call.launch).flops / device.peak_flops);
    measured.workspace = least.workspace;
    device.measured.push_back(measured);
  }
  return machine;
}

struct CpuCase {
  Network network;
  TrainingStep step;
  Machine machine;
  CostModel costs;
  explicit CpuCase(Network n, const StepOptions& options = {}) : CpuCase(n, BuildTrainingStep(n, options)) {}
  // A step of that network, or of parts of its batch.
  CpuCase(Network n, TrainingStep s)
      : network(std::move(n)), step(std::move(s)), machine(MachineFor(step)), costs(machine) {}
  CpuCase(const CpuCase&) = delete;

  Problem ProblemWithin(Bytes capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.use_runtime = true;
    problem.runtime = RuntimeByName("arena");
    problem.simulation_cap = 300;
    return problem;
  }
  // Infeasible where the strategy finds no way.
  Evaluation Of(const std::string& strategy, Bytes capacity) const {
    const Problem problem = ProblemWithin(capacity);
    const Planned planned = PlanWithHeadroom(StrategyByName(strategy), problem);
    if (planned.feasible) return Evaluate(planned.plan, problem);
    Evaluation none;
    none.reason = planned.reason;
    return none;
  }
  Evaluation InCore() const {
    Evaluation evaluation = Of("in-core", 100 * kGB);
    REQUIRE(evaluation.feasible);
    return evaluation;
  }
};

// Laid out, and proved right.
inline Program ProvenProgram(const CpuCase& c, const Plan& plan) {
  for (const std::string& mistake : CheckPlan(plan, c.step)) FAIL(mistake);
  Program program = Lower(plan, StepTables(c.step, c.costs), 0).program;
  PlaceBuffers(program);
  for (const Violation& violation : Verify(program, &c.step)) FAIL(violation.message);
  return program;
}

// The strategy within the least share of the in-core peak that it can do with.
inline Evaluation Tight(const CpuCase& c, const std::string& strategy, Bytes in_core) {
  for (const int percent : {60, 70, 80, 90, 95}) {
    Evaluation evaluation = c.Of(strategy, in_core * percent / 100);
    if (evaluation.feasible) return evaluation;
  }
  return {};
}

// Gives `check` the Program of every strategy that finds a way within less than the in-core peak. Enough of them do, by
// swapping and by recomputing.
template <typename Check>
void ForEachTightProgram(const CpuCase& c, Bytes in_core, const Check& check) {
  int feasible = 0, swapped = 0, recomputed = 0;
  for (const Strategy& strategy : Drawn(Strategies())) {
    // Nothing has told this machine what the library wants for parts (DeviceCosts does, where it is asked).
    if (strategy.scope.parts != PartScope::kNone) continue;
    const Evaluation evaluation = Tight(c, strategy.name, in_core);
    // Parts add up in another order; cpu_op_parts_test and cpu_streamed_ops_test have them.
    if (!evaluation.feasible || evaluation.scope.parts != PartScope::kNone) continue;
    INFO(strategy.name << " within " << evaluation.peak_bytes << " of " << in_core);
    check(evaluation.program);
    ++feasible;
    swapped += evaluation.bytes_out > 0 ? 1 : 0;
    recomputed += evaluation.recompute_time > 0 ? 1 : 0;
  }
  INFO(feasible << " strategies, " << swapped << " swap, " << recomputed << " recompute");
  CHECK(feasible >= Cases(0, 4));
  CHECK(swapped >= Cases(0, 2));
  CHECK(recomputed >= Cases(0, 1));
}

// What training leaves behind.
struct Trained {
  ExecuteResult result;
  std::map<std::string, std::vector<std::byte>> tensors;  // by name
  std::vector<double> losses;
  std::map<LayerId, std::vector<float>> statistics;
};

inline Trained Train(const CpuCase& c, const Program& program, ExecuteOptions options = {},
                     const CpuDeviceOptions& cpu = {}) {
  const SteadyClock clock;
  CpuDevice device(cpu, clock);
  TrainingValues values(c.step, cpu.seed);
  options.values = &values;
  Trained trained;
  trained.result = Execute(program, &c.step, device, clock, options);
  for (std::size_t t = 0; t < c.step.tensors.size(); ++t) {
    const std::vector<std::byte>& bytes = values.Result(static_cast<TensorId>(t));
    if (!bytes.empty()) trained.tensors[c.step.tensors[t].name] = bytes;
  }
  trained.losses = device.losses();
  trained.statistics = device.running_statistics();
  return trained;
}

inline std::string Says(const Trained& trained) {
  return trained.result.failure ? trained.result.failure->message : "";
}

// The first thing that differs in any bit; "" if nothing does.
inline std::string Difference(const Trained& a, const Trained& b) {
  if (a.losses.size() != b.losses.size()) return "number of losses";
  for (std::size_t k = 0; k < a.losses.size(); ++k) {
    if (a.losses[k] != b.losses[k]) return "loss of iteration " + std::to_string(k);
  }
  if (a.tensors.size() != b.tensors.size()) return "number of tensors";
  for (const auto& [name, bytes] : a.tensors) {
    const auto other = b.tensors.find(name);
    if (other == b.tensors.end() || other->second != bytes) return name;
  }
  return a.statistics == b.statistics ? "" : "running statistics";
}

inline std::vector<float> FloatsOf(const std::vector<std::byte>& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// The largest difference, relative to the largest number.
inline double Distance(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const std::vector<float> x = FloatsOf(a), y = FloatsOf(b);
  REQUIRE(x.size() == y.size());
  double most = 0, difference = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    most = std::max(most, std::abs(static_cast<double>(x[k])));
    difference = std::max(difference, std::abs(static_cast<double>(x[k]) - static_cast<double>(y[k])));
  }
  return most == 0 ? difference : difference / most;
}

// The same losses and tensors, but for rounding.
inline void CheckClose(const Trained& expected, const Trained& parts, double tolerance) {
  REQUIRE(Says(parts) == "");
  for (std::size_t k = 0; k < expected.losses.size(); ++k) {
    CHECK(std::abs(parts.losses[k] - expected.losses[k]) <= tolerance * std::abs(expected.losses[k]));
  }
  for (const auto& [name, bytes] : expected.tensors) {
    INFO(name);
    CHECK(Distance(bytes, parts.tensors.at(name)) <= tolerance);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CPU_TRAINING_H_
