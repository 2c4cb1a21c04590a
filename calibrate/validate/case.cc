#include "calibrate/validate/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "calibrate/validate/case_rows.h"
#include "calibrate/validate/measure.h"
#include "calibrate/validate/numerics.h"
#include "calibrate/validate/split.h"
#include "calibrate/validate/step_costs.h"
#include "model/stats/quantile.h"
#include "model/step/accumulate.h"
#include "sim/engine/engine_internal.h"
#include "sim/planning/problem.h"

namespace spillway {

namespace {

constexpr int kTrainingIterations = 2;     // the second one starts from what the first one computed
constexpr int kRepeats = 5;                // of kernels by themselves
constexpr Bytes kGuard = kMiB;             // behind the arena of debug sessions: a write there is seen
constexpr std::uint64_t kRoundedRuns = 3;  // with other numbers each (numerics.h)
// Times the largest of so few: one plan in four that only rounds is beyond that one itself. What is wrong is off by far more.
constexpr double kBeyondDrawn = 4;

// A Program that takes part in the measurement, and what it is for.
struct Entry {
  std::string name;
  Program program;
  const TrainingStep* step = nullptr;
  Bytes arena = 0;
  Runtime runtime{};
  ValidationRow* row = nullptr;  // nullptr: in-core
};

struct Training {
  TrainingResults results;
  Bytes high_water = 0;
  Bytes host_bytes = -1;
  Bytes device_bytes = -1;  // what the session takes of the process, but for host buffers and the guard
  std::optional<Failure> failure;
};

class CaseRun {
 public:
  CaseRun(const CaseSetup& setup, ExecutionDevice& device, const Clock& clock, const CaseOptions& options)
      : setup_(setup), device_(device), clock_(clock), options_(options), costs_(setup.costs) {}

  CaseResult Run() {
    result_.rows.resize(setup_.contenders.size());
    result_.steps.resize(setup_.contenders.size());
    result_.observed.resize(setup_.contenders.size());
    for (std::size_t k = 0; k < setup_.contenders.size(); ++k) AddContender(setup_.contenders[k], result_.rows[k]);
    AddInCore();
    Train();
    Isolate();
    Measure();
    return std::move(result_);
  }

 private:
  void AddContender(const Contender& contender, ValidationRow& row) {
    row = RowOf(contender, setup_);
    if (!row.feasible) return;
    Add({.name = contender.name,
         .program = contender.evaluation->program,
         .step = &setup_.StepOf(contender),
         .arena = setup_.capacity,
         .runtime = contender.plan->runtime,
         .row = &row});
  }

  void Add(Entry entry) {
    FixAlgorithms(*setup_.costs, entry.program);
    timed_values_.try_emplace(entry.step, *entry.step, options_.seed, TrainingValues::Purpose::kTimes);
    entries_.push_back(std::move(entry));
  }

  // The yardstick, whatever memory it takes.
  void AddInCore() {
    Problem ample;
    ample.step = setup_.step;
    ample.costs = setup_.costs;
    ample.capacity = std::numeric_limits<Bytes>::max() / 4;
    ample.use_runtime = true;
    const Evaluation evaluation = Evaluate(Plan{}, ample, {.bounds = false, .timeline = false});
    if (!evaluation.feasible) return;
    result_.in_core_predicted = static_cast<double>(evaluation.step_time);
    Add({.name = "in-core in a larger arena",
         .program = evaluation.program,
         .step = setup_.step,
         .arena = evaluation.peak_bytes});
  }

  void Train() {
    std::optional<TrainingResults> reference;
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {  // in-core is the last
      Training training = TrainOnce(*entry);
      options_.progress();
      if (entry->row == nullptr) {
        if (training.failure) result_.notes.push_back("in-core did not run: " + training.failure->message);
        if (!training.failure) reference = std::move(training.results);
        continue;
      }
      ValidationRow& row = *entry->row;
      row.measured_peak = training.high_water;
      row.measured_device = training.device_bytes;
      row.measured_host = training.host_bytes;
      if (training.failure) FailRow(row, *training.failure);
      if (training.failure || !reference || NumbersOf(*entry->step) != AccumulatedNumbers::kSame) continue;
      const bool rounds = row.numerics.allowed > 0;
      row.numerics = CompareResults(training.results, *reference);
      if (rounds) row.numerics.allowed = AllowedBy(row.numerics.largest_difference, *reference);
    }
  }

  // What rounding may make of in-core's numbers: looked for where `difference` needs more than is usual.
  double AllowedBy(double difference, const TrainingResults& reference) {
    if (difference <= kRounding) return kRounding;
    if (!carried_) {
      carried_ = 0;
      for (std::uint64_t draw = 1; draw <= kRoundedRuns; ++draw) {
        const Training off = TrainOnce(entries_.back(), draw);
        if (!off.failure) carried_ = std::max(*carried_, CompareResults(off.results, reference).largest_difference);
      }
    }
    return std::max(kRounding, kBeyondDrawn * *carried_);
  }

  // `rounded`: with numbers rounded once more, drawn from it; 0: as they are.
  Training TrainOnce(const Entry& entry, std::uint64_t rounded = 0) {
    TrainingValues values(*entry.step, options_.seed);
    RoundedValues off(values, *entry.step, rounded);
    StepValues& given = rounded == 0 ? static_cast<StepValues&>(values) : off;
    std::optional<SessionMemoryWatch> watch;
    if (options_.memory != nullptr) watch.emplace(device_, *options_.memory);
    ExecuteResult run = Execute(
        entry.program, entry.step, watch ? static_cast<ExecutionDevice&>(*watch) : device_, clock_,
        {.arena_bytes = entry.arena + kGuard, .iterations = kTrainingIterations, .debug = true, .values = &given});
    Training training;
    training.failure = std::move(run.failure);
    if (training.failure) NoteMemory(entry, *training.failure);
    training.high_water = run.high_water;
    SessionReport session = device_.LastSession();
    training.host_bytes = session.host_bytes;
    const Bytes host = training.host_bytes >= 0 ? training.host_bytes : entry.program.HostBytes();
    const Bytes growth = watch ? watch->Growth() : -1;
    if (growth >= 0) training.device_bytes = std::max<Bytes>(0, growth - host - kGuard);
    if (session.device_bytes >= 0) training.device_bytes = std::max<Bytes>(0, session.device_bytes - kGuard);
    result_.reserve = std::max(result_.reserve, session.device_reserve);
    training.results = ResultsOf(*entry.step, values, std::move(session.losses));
    return training;
  }

  // In-core takes more than the limit: that it finds no room says nothing of the plans.
  void NoteMemory(const Entry& entry, const Failure& failure) {
    if (failure.fault != Fault::kNoMemory || entry.row == nullptr || !result_.no_memory.empty()) return;
    result_.no_memory = fmt::format("{}: {} ({})", entry.name, failure.message, FaultName(failure.fault));
  }

  // In-core launches, and those of all others but where a plan decides about algorithms or divides ops.
  void Isolate() {
    if (entries_.empty() || entries_.back().row != nullptr) return;
    const Entry& in_core = entries_.back();
    isolated_ =
        MeasureIsolated(in_core.program, *in_core.step, device_, clock_, kRepeats, &timed_values_.at(in_core.step));
    options_.progress();
    if (isolated_.failure) result_.notes.push_back("kernels measured alone: " + isolated_.failure->message);
  }

  void Measure() {
    std::vector<const Entry*> measured;
    std::vector<TimedProgram> candidates;
    for (const Entry& entry : entries_) {
      if (entry.row != nullptr && entry.row->failed) continue;
      measured.push_back(&entry);
      candidates.push_back({&entry.program, entry.step, entry.arena, &timed_values_.at(entry.step)});
    }
    std::vector<Measurement> measurements = MeasureInterleaved(
        candidates, device_, clock_,
        {.steps = options_.steps,
         .rounds = options_.rounds,
         .seed = options_.seed,
         .session_done = options_.progress,
         .between = [this](int rounds) { options_.between(rounds == 0 || rounds == options_.rounds); },
         .beside = options_.beside});
    if (const CostModel* const costs = options_.settled()) UseCosts(*costs);
    for (std::size_t k = 0; k < measured.size(); ++k) Take(*measured[k], measurements[k]);
    if (const std::string note = SlowStepsNote(measurements); !note.empty()) result_.notes.push_back(note);
    for (std::size_t k = 0; k < measured.size(); ++k) Observe(*measured[k], std::move(measurements[k]));
  }

  // Predictions by other costs than those that were planned with.
  void UseCosts(const CostModel& costs) {
    if (&costs == costs_) return;
    costs_ = &costs;
    for (const Entry& entry : entries_) {
      Scratch scratch;
      const Conditions conditions = ConditionsOf(entry.program, costs, entry.runtime, entry.arena);
      const Nanos time = SimulateTimes(entry.program, Durations(entry.program, costs), conditions, scratch).makespan;
      if (entry.row != nullptr) entry.row->predicted = time;
      if (entry.row == nullptr) result_.in_core_predicted = static_cast<double>(time);
    }
  }

  void Observe(const Entry& entry, Measurement measurement) {
    if (entry.row == nullptr || entry.row->random || measurement.failure || measurement.timelines.empty()) return;
    ObservedStep& step = result_.observed[static_cast<std::size_t>(entry.row - result_.rows.data())];
    step.program = entry.program;
    step.measured = std::move(measurement.timelines);
    Scratch scratch;
    Simulate(step.program, Durations(step.program, *costs_),
             ConditionsOf(step.program, *costs_, entry.runtime, entry.arena), scratch, &step.predicted);
    step.predicted.changes = MemoryChanges(step.program, scratch);
  }

  void Take(const Entry& entry, const Measurement& measurement) {
    if (measurement.failure) NoteMemory(entry, *measurement.failure);
    if (entry.row == nullptr) {
      if (measurement.failure) return;
      result_.in_core = Median(Flat(measurement.step_times));
      result_.in_core_split = SplitError(entry.program, *costs_, measurement, isolated_);
      return;
    }
    if (measurement.failure) return FailRow(*entry.row, *measurement.failure);
    ValidationRow& row = *entry.row;
    TakeTimes(measurement, options_.seed, row);
    row.split = SplitError(entry.program, *costs_, measurement, isolated_);
    result_.steps[static_cast<std::size_t>(entry.row - result_.rows.data())] =
        SamplesOfStep(entry.program, measurement.timelines, *costs_,
                      {.device = costs_->machine().devices[0].name,
                       .network = fmt::format("{} at batch {}", entry.step->network, entry.step->batch),
                       .note = fmt::format("{} in {}", entry.name, FormatBytes(setup_.capacity))});
  }

  const CaseSetup& setup_;
  ExecutionDevice& device_;
  const Clock& clock_;
  const CaseOptions& options_;
  const CostModel* costs_;                                      // that measurements are compared by
  std::vector<Entry> entries_;                                  // in-core last
  std::optional<double> carried_;                               // how far rounding carries, where it was looked for
  std::map<const TrainingStep*, TrainingValues> timed_values_;  // by step, of all that is measured
  IsolatedTimes isolated_;
  CaseResult result_;
};

}  // namespace

int CaseSessions(const CaseSetup& setup, const CaseOptions& options) {
  int plans = 1;  // in-core
  for (const Contender& contender : setup.contenders) plans += contender.evaluation->feasible ? 1 : 0;
  return 1 + plans * (1 + SessionsOf({.steps = options.steps, .rounds = options.rounds}));
}

CaseResult RunCase(const CaseSetup& setup, ExecutionDevice& device, const Clock& clock, const CaseOptions& options) {
  return CaseRun(setup, device, clock, options).Run();
}

}  // namespace spillway
