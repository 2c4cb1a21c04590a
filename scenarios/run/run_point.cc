// One point of a run: planned, evaluated, made a row.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "reports/rows/result_row.h"
#include "scenarios/run/run.h"
#include "scenarios/run/step_cache.h"
#include "sim/plan/plan_keys.h"
#include "sim/plan/runtime.h"
#include "sim/planning/strategy.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {

Problem ProblemOf(const PreparedRun& run, const Point& point, const TrainingStep& step, std::size_t machine,
                  Bytes capacity) {
  Problem problem;
  problem.step = &step;
  problem.costs = run.machines[machine]->costs.get();
  problem.capacity = capacity;
  problem.use_runtime = point.use_runtime;
  problem.runtime = point.runtime;
  problem.parameters = point.parameters;
  return problem;
}

namespace {

// With the step that a plan for it is of: its own, or that in so many batch parts.
std::shared_ptr<const PreparedStep> StepFor(const Plan& plan, StepCache::Entry& at) {
  if (plan.accumulate == 1) return at.step;
  auto in_parts = std::make_shared<PreparedStep>(*at.step);
  in_parts->step = at.in_parts->In(plan.accumulate).all.step;
  return in_parts;
}

// The same without a copy.
const TrainingStep& StepWithin(const Plan& plan, StepCache::Entry& at) {
  return plan.accumulate == 1 ? at.step->step : at.in_parts->In(plan.accumulate).all.step;
}

// A strategy's plan names the machine that it was made for as results do.
Planned PlanOf(const PreparedRun& run, const Point& point, int threads, StepCache::Entry& at) {
  if (point.strategy != nullptr) {
    Problem problem = ProblemOf(run, point, at.step->step, point.planned_on, point.planned_capacity);
    problem.in_parts = at.in_parts.get();
    problem.threads = threads;
    Planned planned = PlanWithHeadroom(*point.strategy, problem, *at.oracles.For(problem), at.plans);
    const bool elsewhere = point.planned_on != point.machine || point.planned_capacity != point.row.memory_limit;
    if (elsewhere) planned.bound.reset();
    planned.plan.machine = run.machines[point.planned_on]->label;
    return planned;
  }
  Planned planned{.feasible = true, .reason = "", .plan = *point.plan};
  if (point.use_runtime) planned.plan.runtime = point.runtime;
  return planned;
}

std::vector<std::pair<std::string, Bytes>> NamedClasses(const std::vector<Bytes>& by_class) {
  std::vector<std::pair<std::string, Bytes>> named;
  for (std::size_t i = 0; i < by_class.size(); ++i) {
    const bool workspace = i + 1 == by_class.size();
    named.emplace_back(workspace ? "workspace" : TensorClassName(static_cast<TensorClass>(i)), by_class[i]);
  }
  return named;
}

std::string RuntimeName(const Runtime& runtime) {
  for (const RuntimeEntry& entry : RuntimeTable()) {
    if (entry.runtime == runtime) return entry.name;
  }
  return "own";
}

void FillProvenance(const Evaluation& e, const CostModel& costs, RowProvenance& provenance) {
  provenance.shares = SharesOf(e, costs);
  provenance.largest = SourceKindName(e.fault_time > 0 ? Source::Kind::kAssumed : provenance.shares.Largest());
}

// A strategy that claims too much is not to be believed in anything: no row, an error.
void FillBounds(const Evaluation& e, const Planned& planned, ResultRow& row) {
  if (planned.bound) {
    MustHold(*planned.bound, ScopeOf(planned.plan, planned.bound->scope), e.step_time, row.strategy);
  }
  KnownBounds known = BetterOf(e.bounds, e.widest, e.scope, planned.bound);
  row.bounds.scope = e.scope;
  row.bounds.lower = known.lower;
  row.bounds.binding = std::move(known.binding);
  row.bounds.by = std::move(known.by);
  row.bounds.widest = known.widest;
}

// The ops of a step, each once, with the usual algorithms and workspaces.
Nanos UsualTime(const TrainingStep& step, const CostModel& costs) {
  Nanos time = 0;
  for (const Op& op : step.ops) time += costs.Kernel(LaunchOf(op)).time;
  return time;
}

std::int64_t DividedKernels(const Program& program, const CostModel& costs) {
  return std::count_if(program.kernels.begin(), program.kernels.end(),
                       [&](const Kernel& kernel) { return costs.Kernel(program.launches[kernel.launch]).calls > 1; });
}

RowTimes TimesOf(const Evaluation& e, StepDraws draws) {
  return {.step = e.step_time,
          .low = draws.interval.low,
          .high = draws.interval.high,
          .draws = std::move(draws.times),
          .recompute = e.recompute_time,
          .compute = e.compute_time,
          .stall_out = e.stall_out,
          .stall_in = e.stall_in + e.fault_time,
          .stall_host = e.stall_host,
          .usual = 0};
}

void FillMemory(const Evaluation& e, RowMemory& memory) {
  memory.peak = e.peak_bytes;
  memory.live_peak = e.live_peak_bytes;
  memory.host_peak = e.host_peak_bytes;
  memory.at_peak = NamedClasses(e.memory_by_class);
  memory.on_average = NamedClasses(e.mean_by_class);
  memory.bytes_out = e.bytes_out;
  memory.bytes_in = e.bytes_in;
  const auto pages = static_cast<double>(e.faults.in + e.faults.out);
  memory.page_rate = e.fault_time > 0 ? pages / static_cast<double>(e.fault_time) : 0;
}

// The bytes that follow from the step on its machine, whatever is planned.
void FillStep(const StepTables& tables, RowMemory& memory) {
  memory.network_wide = tables.NetworkWide();
  memory.parameters = 0;
  for (std::size_t t = 0; t < tables.bytes.size(); ++t) {
    if (tables.step->tensors[t].Traits().of_parameters) memory.parameters += tables.bytes[t];
  }
}

void Compute(const PreparedRun& run, const Point& point, int threads, StepCache::Entry& at, PointResult& result) {
  ResultRow& row = result.row;
  const Problem whole = ProblemOf(run, point, at.step->step, point.machine, row.memory_limit);
  FillStep(at.oracles.For(whole)->facts().tables(), row.memory);
  Planned planned = PlanOf(run, point, threads, at);
  if (!planned.feasible) {
    row.reason = planned.reason;
    return;
  }
  row.plan.runtime = RuntimeName(planned.plan.runtime);
  row.plan.memory_model = RuntimeWord(planned.plan.runtime, "memory");
  const TrainingStep& step = StepWithin(planned.plan, at);
  const Problem problem = ProblemOf(run, point, step, point.machine, row.memory_limit);
  EvaluateOptions options{.bounds = run.bounds};
  if (point.strategy != nullptr) options.scope = planned.scope.value_or(point.strategy->scope);
  Evaluation evaluation = at.oracles.For(problem)->Evaluate(planned.plan, options);
  row.feasible = evaluation.feasible;
  row.reason = evaluation.reason;
  if (!row.feasible) return;
  // What a file says about its search need not hold any more: it may have been edited.
  row.plan.evaluations = point.strategy != nullptr ? planned.plan.evaluations : 0;
  row.plan.search = point.strategy != nullptr ? planned.plan.search : "plan file";
  row.plan.classes = evaluation.classes;
  row.times = TimesOf(evaluation, DrawStep(evaluation, planned.plan, *problem.costs, problem.capacity));
  row.times.usual = UsualTime(step, *problem.costs);
  FillMemory(evaluation, row.memory);
  if (run.bounds) FillBounds(evaluation, planned, row);
  FillProvenance(evaluation, *problem.costs, row.provenance);
  row.plan.divided_kernels = DividedKernels(evaluation.program, *problem.costs);
  row.plan.accumulate = planned.plan.accumulate;
  row.plan.numbers = AccumulatedNumbersName(NumbersOf(step));
  result.step = StepFor(planned.plan, at);
  result.plan = std::move(planned.plan);
  result.evaluation = std::move(evaluation);
}

}  // namespace

PointResult RunPoint(const PreparedRun& run, const Point& point, StepCache& steps, int threads) {
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<StepCache::Entry> at = steps.Get(point.step);
  PointResult result;
  result.row = point.row;
  result.step = at->step;
  Compute(run, point, threads, *at, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace spillway
