#include "scenarios/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "reports/result.h"
#include "scenarios/run/step_cache.h"
#include "sim/margin.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {

namespace {

// Steps kept beyond one for each worker, and results that may wait for one before them: a search may take as long as
// hundreds of other points.
constexpr std::size_t kMoreSteps = 8, kMostAhead = 64;
constexpr std::chrono::milliseconds kBetweenAsking{50};  // whether to stop

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

// A strategy's plan names the machine that it was made for as results do.
Planned PlanOf(const PreparedRun& run, const Point& point, StepCache::Entry& at) {
  if (point.strategy != nullptr) {
    const Problem problem = ProblemOf(run, point, at.step->step, point.planned_on, point.planned_capacity);
    Planned planned = PlanWithMargin(*point.strategy, problem, *at.oracles.For(problem), at.plans);
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

void FillShares(const Evaluation& e, const CostModel& costs, ResultRow& row) {
  const SourceShares shares = SharesOf(e, costs);
  row.measured_share = shares.measured;
  row.published_share = shares.published;
  row.assumed_share = shares.assumed;
  row.cost_source = SourceKindName(shares.Largest());
}

// A strategy that claims too much is not to be believed in anything: no row, an error.
void FillBounds(const Evaluation& e, const Planned& planned, ResultRow& row) {
  if (planned.bound) MustHold(*planned.bound, ScopeOf(planned.plan), e.step_time, row.strategy);
  KnownBounds known = BetterOf(e.bounds, e.widest, e.scope, planned.bound);
  row.bound_scope = e.scope;
  row.lower_bound = known.lower;
  row.binding_bound = std::move(known.binding);
  row.bound_by = std::move(known.by);
  row.widest_bound = known.widest;
}

void FillFigures(const Evaluation& e, ResultRow& row) {
  row.step_time = e.step_time;
  row.peak = e.peak_bytes;
  row.live_peak = e.live_peak_bytes;
  row.host_peak = e.host_peak_bytes;
  row.classes = e.classes;
  row.bytes_out = e.bytes_out;
  row.bytes_in = e.bytes_in;
  row.recompute_time = e.recompute_time;
  row.compute_time = e.compute_time;
  row.stall_out = e.stall_out;
  row.stall_in = e.stall_in;
  row.stall_host = e.stall_host;
  row.memory_by_class = NamedClasses(e.memory_by_class);
}

void Compute(const PreparedRun& run, const Point& point, StepCache::Entry& at, PointResult& result) {
  ResultRow& row = result.row;
  Planned planned = PlanOf(run, point, at);
  if (!planned.feasible) {
    row.reason = planned.reason;
    return;
  }
  row.runtime = RuntimeName(planned.plan.runtime);
  row.memory_model = planned.plan.runtime.memory == MemoryModel::kArena ? "arena" : "pool";
  const Problem problem = ProblemOf(run, point, at.step->step, point.machine, row.memory_limit);
  EvaluateOptions options;
  if (point.strategy != nullptr) options.scope = point.strategy->scope;
  Evaluation evaluation = at.oracles.For(problem)->Evaluate(planned.plan, options);
  row.feasible = evaluation.feasible;
  row.reason = evaluation.reason;
  if (!row.feasible) return;
  // What a file says about its search need not hold any more: it may have been edited.
  row.evaluations = point.strategy != nullptr ? planned.plan.evaluations : 0;
  row.search = point.strategy != nullptr ? planned.plan.search : "plan file";
  StepDraws draws = DrawStep(evaluation, planned.plan, problem);
  row.draws = std::move(draws.times);
  row.step_time_low = draws.interval.low;
  row.step_time_high = draws.interval.high;
  FillFigures(evaluation, row);
  FillBounds(evaluation, planned, row);
  FillShares(evaluation, *problem.costs, row);
  result.plan = std::move(planned.plan);
  result.evaluation = std::move(evaluation);
}

PointResult RunOne(const PreparedRun& run, const Point& point, StepCache& steps) {
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<StepCache::Entry> at = steps.Get(point.step);
  PointResult result;
  result.row = point.row;
  result.step = at->step;
  Compute(run, point, *at, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

// Counts the points that still need a machine.
class MachineUses {
 public:
  MachineUses(const PreparedRun& run, std::size_t first) : run_(run), left_(run.machines.size()) {
    for (std::size_t i = first; i < run.points.size(); ++i) {
      for (const std::size_t machine : {run.points[i].machine, run.points[i].planned_on}) ++left_[machine];
    }
  }
  void Done(const Point& point) {
    for (const std::size_t machine : {point.machine, point.planned_on}) {
      if (--left_[machine] == 0 && !run_.keep_steps) run_.machines[machine]->costs->Forget();
    }
  }

 private:
  const PreparedRun& run_;
  std::vector<std::size_t> left_;
};

// Workers take points in order; the calling thread hands results over in order.
class Runner {
 public:
  Runner(const PreparedRun& run, int jobs, std::size_t first,
         const std::function<void(const Point&, PointResult&)>& sink, const std::function<bool()>& stop)
      : run_(run),
        jobs_(static_cast<std::size_t>(jobs)),
        sink_(sink),
        stop_(stop),
        steps_(run, jobs_ + kMoreSteps),
        machines_(run, first),
        next_(first),
        taken_(first) {}

  bool Run() {
    std::vector<std::jthread> workers;
    try {
      for (std::size_t i = 0; i < jobs_; ++i) workers.emplace_back([this] { Work(); });
      for (std::size_t i = taken_; i < run_.points.size(); ++i) {
        std::optional<PointResult> result = Take(i);
        if (!result) {
          Stop();
          return false;
        }
        sink_(run_.points[i], *result);
      }
    } catch (...) {
      Stop();
      throw;
    }
    return true;
  }

 private:
  struct Slot {
    std::optional<PointResult> result;
    std::exception_ptr error;
  };

  void Stop() {
    const std::lock_guard lock(mutex_);
    next_ = run_.points.size();
    room_.notify_all();
  }

  // The next point, once it is not too far ahead of the sink; the number of points: there is none.
  std::size_t Next() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return next_ >= run_.points.size() || next_ < taken_ + jobs_ + kMostAhead; });
    return next_ < run_.points.size() ? next_++ : next_;
  }

  void Work() {
    for (std::size_t i = Next(); i < run_.points.size(); i = Next()) {
      Slot slot;
      try {
        slot.result = RunOne(run_, run_.points[i], steps_);
      } catch (...) {
        slot.error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      machines_.Done(run_.points[i]);
      slots_[i] = std::move(slot);
      ready_.notify_one();
    }
  }

  // Nothing: it is time to stop.
  std::optional<PointResult> Take(std::size_t i) {
    std::unique_lock lock(mutex_);
    do {
      if (stop_ && stop_()) return std::nullopt;
    } while (!ready_.wait_for(lock, kBetweenAsking, [&] { return slots_.contains(i); }));
    Slot slot = std::move(slots_.extract(i).mapped());
    taken_ = i + 1;
    room_.notify_all();
    if (slot.error) std::rethrow_exception(slot.error);
    return std::move(*slot.result);
  }

  const PreparedRun& run_;
  const std::size_t jobs_;
  const std::function<void(const Point&, PointResult&)>& sink_;
  const std::function<bool()>& stop_;
  StepCache steps_;
  std::mutex mutex_;  // of all below
  MachineUses machines_;
  std::map<std::size_t, Slot> slots_;  // results that wait for the sink, by point
  std::size_t next_, taken_;
  std::condition_variable ready_, room_;
};

// Whether one op alone is too large: a plan that decides nothing fails on its working set.
std::string SingleOpProblem(const PreparedRun& run, const Point& point, const TrainingStep& step) {
  const Problem problem = ProblemOf(run, point, step, point.machine, point.row.memory_limit);
  const Evaluation e = Evaluate(Plan{}, problem, {.verify = false, .bounds = false, .timeline = false});
  if (e.worst_op == kNoOp) return "";
  // The reason as rows have it, so that one op has one size wherever it is spoken of.
  const std::string_view reason = std::string_view(e.reason).substr(e.reason.find(": ") + 2);
  return fmt::format(": op {}; the smallest limit that would do is {}", reason, FormatBytesUp(e.smallest_limit));
}

}  // namespace

bool RunPoints(const PreparedRun& run, int jobs, const std::function<void(const Point&, PointResult&)>& sink,
               std::size_t first, const std::function<bool()>& stop) {
  return Runner(run, std::max(1, jobs), first, sink, stop).Run();
}

bool SamePlace(const ResultRow& a, const ResultRow& b) {
  return a.scenario == b.scenario && a.network == b.network && a.batch == b.batch && a.machine == b.machine &&
         a.memory_limit == b.memory_limit;
}

std::vector<std::string> PointsWithoutStrategy(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                               const std::function<bool(const ResultRow&)>& expected) {
  std::vector<std::string> messages;
  StepCache steps(run, kMoreSteps);
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && SamePlace(rows[begin], rows[end])) ++end;
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = rows.begin() + static_cast<std::ptrdiff_t>(end);
    const bool any = std::any_of(first, last, [](const ResultRow& r) { return r.feasible; });
    if (!any && !(expected && std::all_of(first, last, expected))) {
      const ResultRow& r = rows[begin];
      const Point& point = run.points[begin];
      messages.push_back(fmt::format("no strategy fits {} at batch {} on {} with {}{}", r.network, r.batch, r.machine,
                                     FormatBytes(r.memory_limit),
                                     SingleOpProblem(run, point, steps.Get(point.step)->step->step)));
    }
    begin = end;
  }
  return messages;
}

}  // namespace spillway
