#include "scenarios/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "reports/cost_source.h"
#include "sim/margin.h"
#include "sim/uncertainty.h"

namespace spillway {

namespace {

Problem ProblemOf(const PreparedRun& run, const Point& point, std::size_t machine, Bytes capacity) {
  Problem problem;
  problem.step = &run.steps[point.step]->step;
  problem.costs = run.machines[machine]->costs.get();
  problem.capacity = capacity;
  problem.use_runtime = point.use_runtime;
  problem.runtime = point.runtime;
  return problem;
}

Planned PlanOf(const PreparedRun& run, const Point& point, PlanMemo& plans) {
  if (point.strategy != nullptr) {
    return PlanWithMargin(*point.strategy, ProblemOf(run, point, point.planned_on, point.planned_capacity), &plans);
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

void FillFigures(const Evaluation& e, const CostModel& costs, ResultRow& row) {
  row.step_time = e.step_time;
  const Interval interval = EightyPercentInterval(row.draws);
  row.step_time_low = interval.low;
  row.step_time_high = interval.high;
  row.lower_bound = e.bounds.Best();
  row.binding_bound = e.bounds.Binding();
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
  row.cost_source = SourceKindName(LeastSureSource(e.program, costs));
  row.memory_by_class = NamedClasses(e.memory_by_class);
}

void Compute(const PreparedRun& run, const Point& point, PlanMemo& plans, PointResult& result) {
  ResultRow& row = result.row;
  Planned planned = PlanOf(run, point, plans);
  if (!planned.feasible) {
    row.reason = planned.reason;
    return;
  }
  row.memory_model = planned.plan.runtime.memory == MemoryModel::kArena ? "arena" : "pool";
  const Problem problem = ProblemOf(run, point, point.machine, row.memory_limit);
  Evaluation evaluation = Evaluate(planned.plan, problem);
  row.feasible = evaluation.feasible;
  row.reason = evaluation.reason;
  if (!row.feasible) return;
  // What a file says about its search need not hold any more: it may have been edited.
  row.evaluations = point.strategy != nullptr ? planned.plan.evaluations : 0;
  row.search = point.strategy != nullptr ? planned.plan.search : "plan file";
  row.draws = DrawStepTimes(evaluation, planned.plan, problem);
  FillFigures(evaluation, *problem.costs, row);
  result.plan = std::move(planned.plan);
  result.evaluation = std::move(evaluation);
}

PointResult RunOne(const PreparedRun& run, const Point& point, PlanMemo& plans) {
  const auto start = std::chrono::steady_clock::now();
  PointResult result;
  result.row = point.row;
  Compute(run, point, plans, result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

// Workers take points in order; the calling thread hands results over in order.
class Runner {
 public:
  Runner(const PreparedRun& run, const std::function<void(const Point&, PointResult&)>& sink)
      : run_(run), sink_(sink), slots_(run.points.size()) {}

  void Run(int jobs) {
    std::vector<std::jthread> workers;
    try {
      for (int i = 0; i < jobs; ++i) workers.emplace_back([this] { Work(); });
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        PointResult result = Take(i);
        sink_(run_.points[i], result);
      }
    } catch (...) {
      next_ = slots_.size();  // let the workers end
      throw;
    }
  }

 private:
  struct Slot {
    std::optional<PointResult> result;
    std::exception_ptr error;
  };

  void Work() {
    for (std::size_t i = next_++; i < slots_.size(); i = next_++) {
      Slot slot;
      try {
        slot.result = RunOne(run_, run_.points[i], plans_);
      } catch (...) {
        slot.error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      slots_[i] = std::move(slot);
      ready_.notify_one();
    }
  }

  PointResult Take(std::size_t i) {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return slots_[i].result || slots_[i].error; });
    if (slots_[i].error) std::rethrow_exception(slots_[i].error);
    PointResult result = std::move(*slots_[i].result);
    slots_[i].result.reset();
    return result;
  }

  const PreparedRun& run_;
  const std::function<void(const Point&, PointResult&)>& sink_;
  PlanMemo plans_;
  std::vector<Slot> slots_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable ready_;
};

bool SamePlace(const ResultRow& a, const ResultRow& b) {
  return a.scenario == b.scenario && a.network == b.network && a.batch == b.batch && a.machine == b.machine &&
         a.memory_limit == b.memory_limit;
}

// Whether one op alone is too large: a plan that decides nothing fails on its working set.
std::string SingleOpProblem(const PreparedRun& run, const Point& point) {
  const Problem problem = ProblemOf(run, point, point.machine, point.row.memory_limit);
  const Evaluation e = Evaluate(Plan{}, problem, {.verify = false, .bounds = false, .timeline = false});
  if (e.worst_op == kNoOp) return "";
  // The reason as rows have it, so that one op has one size wherever it is spoken of.
  const std::string_view reason = std::string_view(e.reason).substr(e.reason.find(": ") + 2);
  return fmt::format(": op {}; the smallest limit that would do is {}", reason, FormatBytesUp(e.smallest_limit));
}

}  // namespace

PointResult RunPoint(const PreparedRun& run, const Point& point) {
  PlanMemo plans;
  return RunOne(run, point, plans);
}

void RunPoints(const PreparedRun& run, int jobs, const std::function<void(const Point&, PointResult&)>& sink) {
  Runner(run, sink).Run(std::max(1, jobs));
}

std::vector<std::string> PointsWithoutStrategy(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                               const std::function<bool(const ResultRow&)>& expected) {
  std::vector<std::string> messages;
  for (std::size_t begin = 0; begin < rows.size();) {
    std::size_t end = begin;
    while (end < rows.size() && SamePlace(rows[begin], rows[end])) ++end;
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = rows.begin() + static_cast<std::ptrdiff_t>(end);
    const bool any = std::any_of(first, last, [](const ResultRow& r) { return r.feasible; });
    if (!any && !(expected && std::all_of(first, last, expected))) {
      const ResultRow& r = rows[begin];
      messages.push_back(fmt::format("no strategy fits {} at batch {} on {} with {}{}", r.network, r.batch, r.machine,
                                     FormatBytes(r.memory_limit), SingleOpProblem(run, run.points[begin])));
    }
    begin = end;
  }
  return messages;
}

}  // namespace spillway
