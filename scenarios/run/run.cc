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

#include "reports/rows/result.h"
#include "scenarios/run/step_cache.h"

namespace spillway {

namespace {

// Steps kept beyond one for each worker, and results that may wait for one before them: a search may take as long as
// hundreds of other points.
constexpr std::size_t kMoreSteps = 8, kMostAhead = 64;
constexpr std::chrono::milliseconds kBetweenAsking{50};  // whether to stop

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

  // What the points from this one on leave idle otherwise.
  int ThreadsFor(std::size_t point) const {
    return static_cast<int>(std::max<std::size_t>(1, jobs_ / (run_.points.size() - point)));
  }

  void Work() {
    for (std::size_t i = Next(); i < run_.points.size(); i = Next()) {
      Slot slot;
      try {
        slot.result = RunPoint(run_, run_.points[i], steps_, ThreadsFor(i));
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
std::string SingleOpProblem(const PreparedRun& run, const Point& point, const PreparedStep& prepared) {
  const TrainingStep step = StepOfPlan(prepared, point.plan ? point.plan->accumulate : 1);
  const Problem problem = ProblemOf(run, point, step, point.machine, point.row.memory_limit);
  const Evaluation e = Evaluate(Plan{}, problem, {.verify = false, .bounds = false, .timeline = false});
  if (e.worst_op == kNoOp) return "";
  // The reason as rows have it, so that one op has one size wherever it is spoken of.
  const std::string_view reason = std::string_view(e.reason).substr(e.reason.find(": ") + 2);
  return fmt::format(": op {}; swapping every map would do with {}, `spillway show floor` says what parts do with",
                     reason, FormatBytesUp(e.smallest_limit));
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
      const std::string what = point.plan ? "the plan " + r.strategy + " does not fit" : "no strategy fits";
      messages.push_back(fmt::format("{} {} at batch {} on {} with {}{}", what, r.network, r.batch, r.machine,
                                     FormatBytes(r.memory_limit),
                                     SingleOpProblem(run, point, *steps.Get(point.step)->step)));
    }
    begin = end;
  }
  return messages;
}

}  // namespace spillway
