#include "scenarios/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "calibrate/validate/case.h"
#include "calibrate/validate/rivals.h"
#include "calibrate/validate/summary.h"
#include "scenarios/stoppable_device.h"
#include "scenarios/validate_device.h"
#include "scenarios/validate_failures.h"
#include "scenarios/validate_places.h"
#include "sim/random_plans.h"

namespace spillway {

namespace {

// Every device that it makes can be stopped.
ValidateHost Stoppable(const ValidateHost& host, const std::function<bool()>& stop) {
  ValidateHost stoppable = host;
  stoppable.make = [make = host.make, stop](const Network& network, const Machine& profile, const DeviceTerms& terms) {
    OpenDevice open = make(network, profile, terms);
    open.device = std::make_unique<StoppableDevice>(std::move(open.device), stop);
    return open;
  };
  return stoppable;
}

class Validation {
 public:
  Validation(PreparedRun& run, const ValidateHost& host, const ValidateOptions& options, const ValidateWatcher& watcher)
      : run_(run),
        host_(Stoppable(host, options.stop)),
        options_(options),
        watcher_(watcher),
        device_(run, host_),
        check_([this] {
          if (options_.stop()) throw Stopped();
        }) {}

  Validated Run() {
    UseArenas(run_);
    load_ = host_.load();
    try {
      RunAll();
    } catch (const Stopped&) {
      result_.stopped = true;
    }
    if (!result_.set.cases.empty()) Conclude();
    return std::move(result_);
  }

 private:
  void RunAll() {
    Note(device_.Ask());
    check_();
    std::vector<Place> places = PlanAll(run_, options_.jobs, check_);
    result_.stuck = PointsWithoutStrategy(run_, RowsOf(places));
    if (!result_.stuck.empty()) return;
    device_.Measure();
    places = PlanAll(run_, options_.jobs, check_);
    std::vector<CaseSetup> setups;
    for (Place& place : places) setups.push_back(SetUp(place, places));
    watcher_.begin(SessionsOf(setups), places.size());
    for (std::size_t k = 0; k < places.size(); ++k) RunPlace(places[k], setups[k], k + 1 == places.size());
  }

  void Note(std::vector<std::string> notes) {
    std::move(notes.begin(), notes.end(), std::back_inserter(result_.set.notes));
  }

  CaseSetup SetUp(Place& place, const std::vector<Place>& places) {
    CaseSetup setup;
    setup.step = &run_.steps[place.step]->step;
    setup.costs = run_.machines[place.machine]->costs.get();
    setup.capacity = place.limit;
    for (const PlannedPoint& planned : place.planned) {
      setup.contenders.push_back({.name = planned.point->row.strategy,
                                  .stratum = "",
                                  .random = false,
                                  .plan = &planned.result.plan,
                                  .evaluation = Judged(planned.result)});
    }
    AddRandomPlans(place, places, setup);
    return setup;
  }

  // The evaluation, with the reason of a row that has none.
  const Evaluation* Judged(const PointResult& result) {
    if (result.row.feasible) return &result.evaluation;
    evaluations_.emplace_back();
    evaluations_.back().reason = result.row.reason;
    return &evaluations_.back();
  }

  Problem ProblemOf(const CaseSetup& setup, const Runtime& runtime) const {
    Problem problem;
    problem.step = setup.step;
    problem.costs = setup.costs;
    problem.capacity = setup.capacity;
    problem.use_runtime = true;
    problem.runtime = runtime;
    return problem;
  }

  void AddRandomPlans(const Place& place, const std::vector<Place>& places, CaseSetup& setup) {
    const std::string& network = run_.steps[place.step]->network;
    int sharing = 0, before = 0;  // places of this network
    for (const Place& other : places) {
      if (run_.steps[other.step]->network != network) continue;
      before += &other < &place ? 1 : 0;
      ++sharing;
    }
    const int plans = options_.random_plans * (before + 1) / sharing - options_.random_plans * before / sharing;
    const Problem problem = ProblemOf(setup, place.planned.front().point->runtime);
    const auto seed = options_.seed + static_cast<std::uint64_t>(before);
    for (DrawnPlan& drawn : DrawPlans(problem, {.plans = plans, .seed = seed})) {
      plans_.push_back(std::move(drawn.plan));
      evaluations_.push_back(Evaluate(plans_.back(), problem));
      setup.contenders.push_back({.name = fmt::format("random {}", setup.contenders.size() - place.planned.size() + 1),
                                  .stratum = drawn.stratum.Text(),
                                  .random = true,
                                  .plan = &plans_.back(),
                                  .evaluation = &evaluations_.back()});
    }
  }

  CaseOptions OptionsOf() const {
    return {.steps = options_.steps, .seed = options_.seed, .progress = watcher_.session};
  }

  std::size_t SessionsOf(const std::vector<CaseSetup>& setups) const {
    std::size_t sessions = 0;
    for (const CaseSetup& setup : setups) sessions += static_cast<std::size_t>(CaseSessions(setup, OptionsOf()));
    return sessions;
  }

  void RunPlace(const Place& place, const CaseSetup& setup, bool last) {
    CaseResult found = RunIfItCan(place, setup);
    NeedMemory(found, last);
    device_.NoteReserve(place.machine, found.reserve);
    const std::size_t index = result_.set.cases.size();
    ValidationCase judged = CaseOf(place, found);
    for (ValidationRow& row : found.rows) row.case_index = static_cast<int>(index);
    if (judged.pace.Known()) PredictAsCalibrated(setup, device_.AsCalibrated(place.machine), found.rows);
    JudgeCase(found.rows, options_.seed, judged);
    PredictByAllModels(setup, found.rows);
    for (const ValidationRow& row : found.rows) NoteFailures(judged, row, host_.numerics_tolerance, result_);
    for (std::size_t k = 0; k < place.planned.size(); ++k) AddResult(place.planned[k].result.row, found.rows[k]);
    for (std::string& note : found.notes) result_.set.notes.push_back(judged.network + ": " + std::move(note));
    result_.set.cases.push_back(std::move(judged));
    std::move(found.rows.begin(), found.rows.end(), std::back_inserter(result_.set.rows));
    watcher_.case_done(result_.set, index);
  }

  // A device that cannot be had, or had to be given up, is this case's failure. Others may do with less, or of another
  // machine; where it is lost for good they fail as soon as they begin.
  CaseResult RunIfItCan(const Place& place, const CaseSetup& setup) {
    try {
      const PreparedMachine& machine = *run_.machines[place.machine];
      const OpenDevice open = host_.make(run_.steps[place.step]->net, machine.machine, device_.TermsOf(machine));
      const Bench bench{.device = open.device.get(),
                        .clock = open.clock,
                        .memory = host_.memory,
                        .losses = open.losses,
                        .host_bytes = open.host_bytes,
                        .device_bytes = open.device_bytes,
                        .device_reserve = open.device_reserve,
                        .step_clocks = open.step_clocks};
      CaseResult found = RunCase(setup, bench, OptionsOf());
      if (!std::exchange(placed_, true) && !open.placement().empty()) result_.set.notes.push_back(open.placement());
      return found;
    } catch (const DeviceError& error) {
      return FailedCase(setup, fmt::format("{}: {}", FaultName(error.fault()), error.what()));
    } catch (const UserError& error) {
      return FailedCase(setup, error.what());
    } catch (const std::bad_alloc&) {
      return FailedCase(setup, "this process has no memory left");
    }
  }

  // Limits that this machine has no memory for are a mistake, where no case is left that it has.
  void NeedMemory(const CaseResult& found, bool last) {
    const auto measured = [](const ValidationRow& row) { return row.Measured(); };
    const bool any = std::any_of(found.rows.begin(), found.rows.end(), measured);
    nothing_fits_ = nothing_fits_ && !any && !found.no_memory.empty();
    if (last && nothing_fits_) throw UserError(found.no_memory);
  }

  ValidationCase CaseOf(const Place& place, const CaseResult& found) const {
    const ResultRow& row = place.planned.front().point->row;
    ValidationCase c;
    c.scenario = row.scenario;
    c.network = row.network;
    c.network_base = row.network_base;
    c.machine = row.machine;
    c.device = run_.machines[place.machine]->machine.devices[0].name;
    c.batch = row.batch;
    c.memory_limit = place.limit;
    c.link = device_.LinkOf(place.machine);
    c.pace = device_.PaceOf(place.machine);
    c.profile_reserve = run_.machines[place.machine]->machine.devices[0].reserve;
    c.measured_reserve = found.reserve;
    c.in_core = found.in_core;
    c.in_core_predicted = found.in_core_predicted;
    c.in_core_split = found.in_core_split;
    return c;
  }

  static void PredictAsCalibrated(const CaseSetup& setup, const CostModel& costs, std::vector<ValidationRow>& rows) {
    Scratch scratch;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!rows[k].feasible) continue;
      const Contender& contender = setup.contenders[k];
      const Program& program = contender.evaluation->program;
      const Conditions conditions = ConditionsOf(program, costs, contender.plan->runtime, setup.capacity);
      rows[k].as_calibrated = Simulate(program, Durations(program, costs), conditions, scratch).makespan;
    }
  }

  void PredictByAllModels(const CaseSetup& setup, const std::vector<ValidationRow>& rows) {
    const std::vector<StepModel>& models = StepModels();
    if (models_.empty()) {
      for (const StepModel& model : models) models_.push_back({model.name, model.description, {}});
      if (device_.AnyPace()) models_.push_back({"as calibrated", "at the pace at which the profile was measured", {}});
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (!rows[k].Measured()) continue;
      const Contender& contender = setup.contenders[k];
      const Problem problem = ProblemOf(setup, contender.plan->runtime);
      for (std::size_t m = 0; m < models.size(); ++m) {
        const Nanos time = models[m].predict(*contender.evaluation, *contender.plan, problem);
        models_[m].predicted.push_back(static_cast<double>(time));
      }
      if (!device_.AnyPace()) continue;
      models_.back().predicted.push_back(
          static_cast<double>(rows[k].as_calibrated > 0 ? rows[k].as_calibrated : rows[k].predicted));
    }
  }

  void AddResult(ResultRow result, const ValidationRow& row) {
    result.feasible = row.Measured();
    if (row.failed) result.reason = row.reason;
    result.step_time = static_cast<Nanos>(row.measured);
    result_.results.push_back(std::move(result));
  }

  void Conclude() {
    const double load = host_.load();
    if (load > 0) {
      result_.set.notes.push_back(fmt::format(
          "load of the machine {:.1f} at the start, {:.1f} at the end; what waits for a core is measured as "
          "slower",
          load_, load));
    }
    Note(device_.Reserves());
    if (!result_.stopped) Note(device_.Drift());  // else whoever waits for the end would wait for that too
    SummariseSet(result_.set);
    result_.set.falsification = Falsify(result_.set, models_, options_.seed);
    result_.set.scaled_falsification = Falsify(result_.set, ScaledByCase(result_.set, models_), options_.seed);
  }

  PreparedRun& run_;
  const ValidateHost host_;
  const ValidateOptions& options_;
  const ValidateWatcher& watcher_;
  DeviceAsFound device_;
  std::function<void()> check_;         // throws Stopped
  std::deque<Plan> plans_;              // random ones; addresses stay
  std::deque<Evaluation> evaluations_;  // theirs, and those of rows without one
  std::vector<ModelPredictions> models_;
  double load_ = -1;          // at the start
  bool placed_ = false;       // where cases run has been noted
  bool nothing_fits_ = true;  // no plan measured yet, for want of memory in each case
  Validated result_;
};

}  // namespace

Validated ValidateRun(PreparedRun& run, const ValidateHost& host, const ValidateOptions& options,
                      const ValidateWatcher& watcher) {
  return Validation(run, host, options, watcher).Run();
}

}  // namespace spillway
