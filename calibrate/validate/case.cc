#include "calibrate/validate/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "calibrate/validate/measure.h"
#include "calibrate/validate/rounding.h"
#include "calibrate/validate/split.h"
#include "calibrate/validate/step_costs.h"
#include "model/step/accumulate.h"
#include "sim/engine/engine_parts.h"
#include "sim/uncertainty/quantile.h"

namespace spillway {

namespace {

constexpr int kTrainingIterations = 2;  // the second one starts from what the first one computed
constexpr int kRepeats = 5;             // of kernels by themselves
constexpr Bytes kGuard = kMiB;          // behind the arena of debug sessions: a write there is seen
constexpr double kRounding = 1e-4;  // of sums in another order, after as many iterations, where nothing amplifies it
constexpr std::uint64_t kRoundedRuns = 3;  // with other numbers each (rounding.h)
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

// Other kernels, or the same on other operands, add up in another order.
bool RoundsOtherwise(const Plan& plan) { return plan.accumulate > 1 || !plan.ops.empty(); }

// What is known of it before anything runs.
ValidationRow RowOf(const Contender& contender, const CaseSetup& setup) {
  const Evaluation& evaluation = *contender.evaluation;
  ValidationRow row;
  row.strategy = contender.name;
  row.stratum = contender.stratum;
  row.random = contender.random;
  row.feasible = evaluation.feasible;
  row.reason = evaluation.reason;
  if (!row.feasible) return row;
  row.predicted = evaluation.step_time;
  row.predicted_peak = evaluation.peak_bytes;
  row.predicted_device = setup.capacity + setup.costs->machine().devices[0].reserve;
  row.predicted_host = evaluation.host_peak_bytes;
  row.numerics.allowed = RoundsOtherwise(*contender.plan) ? kRounding : 0;
  return row;
}

class CaseRun {
 public:
  CaseRun(const CaseSetup& setup, const Bench& bench, const CaseOptions& options)
      : setup_(setup), bench_(bench), options_(options), costs_(setup.costs) {}

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
    if (bench_.memory != nullptr) watch.emplace(*bench_.device, *bench_.memory);
    ExecuteResult run = Execute(
        entry.program, entry.step, watch ? static_cast<ExecutionDevice&>(*watch) : *bench_.device, *bench_.clock,
        {.arena_bytes = entry.arena + kGuard, .iterations = kTrainingIterations, .debug = true, .values = &given});
    Training training;
    training.failure = std::move(run.failure);
    if (training.failure) NoteMemory(entry, *training.failure);
    training.high_water = run.high_water;
    training.host_bytes = bench_.host_bytes();
    const Bytes host = training.host_bytes >= 0 ? training.host_bytes : entry.program.HostBytes();
    const Bytes growth = watch ? watch->Growth() : -1;
    if (growth >= 0) training.device_bytes = std::max<Bytes>(0, growth - host - kGuard);
    if (const Bytes own = bench_.device_bytes(); own >= 0) training.device_bytes = std::max<Bytes>(0, own - kGuard);
    result_.reserve = std::max(result_.reserve, bench_.device_reserve());
    training.results = ResultsOf(*entry.step, values, bench_.losses());
    return training;
  }

  // In-core takes more than the limit: that it finds no room says nothing of the plans.
  void NoteMemory(const Entry& entry, const Failure& failure) {
    if (failure.fault != Fault::kNoMemory || entry.row == nullptr || !result_.no_memory.empty()) return;
    result_.no_memory = fmt::format("{}: {} ({})", entry.name, failure.message, FaultName(failure.fault));
  }

  static void FailRow(ValidationRow& row, const Failure& failure) {
    row.failed = true;
    row.refused = failure.fault == Fault::kRefused;
    row.reason = fmt::format("{}: {}", FaultName(failure.fault), failure.message);
  }

  // In-core launches, and those of all others but where a plan decides about algorithms or divides ops.
  void Isolate() {
    if (entries_.empty() || entries_.back().row != nullptr) return;
    const Entry& in_core = entries_.back();
    isolated_ = MeasureIsolated(in_core.program, *in_core.step, *bench_.device, *bench_.clock, kRepeats,
                                &timed_values_.at(in_core.step));
    options_.progress();
    if (isolated_.failure) result_.notes.push_back("kernels by themselves: " + isolated_.failure->message);
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
        candidates, *bench_.device, *bench_.clock,
        {.steps = options_.steps,
         .rounds = options_.rounds,
         .seed = options_.seed,
         .step_clocks = bench_.step_clocks,
         .session_done = options_.progress,
         .between = [this](int rounds) { options_.between(rounds == 0 || rounds == options_.rounds); },
         .beside = options_.beside});
    if (const CostModel* const costs = options_.settled()) UseCosts(*costs);
    for (std::size_t k = 0; k < measured.size(); ++k) Take(*measured[k], measurements[k]);
    NoteSlowSteps(measurements);
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

  // A step at a lower clock than the others is the device's doing, not a plan's or the model's.
  void NoteSlowSteps(const std::vector<Measurement>& measurements) {
    constexpr double kSlow = 0.97;
    std::vector<double> clocks;
    for (const Measurement& m : measurements) clocks.insert(clocks.end(), m.step_clocks.begin(), m.step_clocks.end());
    if (clocks.empty()) return;
    const double usual = Median(clocks), least = *std::min_element(clocks.begin(), clocks.end());
    const auto slow = std::count_if(clocks.begin(), clocks.end(), [&](double mhz) { return mhz < kSlow * usual; });
    if (slow == 0) return;
    result_.notes.push_back(
        fmt::format("the device's clock fell below {:.0f} % of the usual {:.0f} MHz in {} of {} steps, to {:.0f}",
                    100 * kSlow, usual, slow, clocks.size(), least));
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
    row.step_times = measurement.step_times;
    row.moments = measurement.moments;
    const std::vector<double> times = Flat(row.step_times);
    row.measured = Median(times);
    row.measured_spread = row.measured > 0 ? (Quantile(times, 0.75) - Quantile(times, 0.25)) / row.measured : 0;
    const Spread interval = BootstrapMedian(row.step_times, {.seed = options_.seed});
    row.measured_low = interval.low;
    row.measured_high = interval.high;
    if (const std::vector<double>& clocks = measurement.step_clocks; !clocks.empty()) {
      row.clock_mhz = Median(clocks);
      row.lowest_clock_mhz = *std::min_element(clocks.begin(), clocks.end());
    }
    row.split = SplitError(entry.program, *costs_, measurement, isolated_);
    result_.steps[static_cast<std::size_t>(entry.row - result_.rows.data())] =
        SamplesOfStep(entry.program, measurement.timelines, *costs_,
                      {.device = costs_->machine().devices[0].name,
                       .network = fmt::format("{} at batch {}", entry.step->network, entry.step->batch),
                       .note = fmt::format("{} in {}", entry.name, FormatBytes(setup_.capacity))});
  }

  const CaseSetup& setup_;
  const Bench& bench_;
  const CaseOptions& options_;
  const CostModel* costs_;                                      // that measurements are compared by
  std::vector<Entry> entries_;                                  // in-core last
  std::optional<double> carried_;                               // how far rounding carries, where it was looked for
  std::map<const TrainingStep*, TrainingValues> timed_values_;  // by step, of all that is measured
  IsolatedTimes isolated_;
  CaseResult result_;
};

}  // namespace

const Timeline& ObservedStep::Usual() const {
  std::vector<std::size_t> order(measured.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [this](auto a, auto b) { return measured[a].makespan < measured[b].makespan; });
  return measured[order[(order.size() - 1) / 2]];
}

int CaseSessions(const CaseSetup& setup, const CaseOptions& options) {
  int plans = 1;  // in-core
  for (const Contender& contender : setup.contenders) plans += contender.evaluation->feasible ? 1 : 0;
  return 1 + plans * (1 + SessionsOf({.steps = options.steps, .rounds = options.rounds}));
}

CaseResult FailedCase(const CaseSetup& setup, const std::string& why) {
  CaseResult result;
  for (const Contender& contender : setup.contenders) {
    ValidationRow& row = result.rows.emplace_back(RowOf(contender, setup));
    row.failed = row.feasible;
    if (row.failed) row.reason = why;
  }
  return result;
}

CaseResult RunCase(const CaseSetup& setup, const Bench& bench, const CaseOptions& options) {
  return CaseRun(setup, bench, options).Run();
}

}  // namespace spillway
