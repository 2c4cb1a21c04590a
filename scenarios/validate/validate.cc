#include "scenarios/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "calibrate/validate/case.h"
#include "calibrate/validate/case_rows.h"
#include "calibrate/validate/falsify.h"
#include "calibrate/validate/follow.h"
#include "calibrate/validate/stoppable_device.h"
#include "reports/rows/expectation.h"
#include "scenarios/validate/validate_contenders.h"
#include "scenarios/validate/validate_parts.h"

namespace spillway {

namespace {

bool AnyRuns(const CaseSetup& setup) {
  return std::any_of(setup.contenders.begin(), setup.contenders.end(),
                     [](const Contender& contender) { return contender.evaluation->feasible; });
}

class Validation {
 public:
  Validation(PreparedRun& run, DeviceBackend& backend, const ValidateOptions& options, ValidateWatcher& watcher)
      : run_(run),
        backend_(backend),
        options_(options),
        watcher_(watcher),
        device_(DeviceSideOf(run, backend), backend, options.stop),
        contenders_(run, options.random_plans, options.seed),
        check_([this] {
          if (options_.stop()) throw Stopped();
        }) {}

  Validated Run() {
    UseArenas(run_);
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
    const double load = backend_.Load();  // before planning on all cores is in it
    Note(device_.Ask());
    check_();
    std::vector<Place> places = PlanAll(run_, options_.jobs, check_);
    result_.stuck = StuckIn(RowsOf(places));
    if (!result_.stuck.empty()) return;
    const std::size_t known = std::min(options_.known.size(), places.size());
    if (known < places.size()) {
      JudgeLoad(load);
      device_.Measure();
      places = PlanAll(run_, options_.jobs, check_);
    }
    std::vector<CaseSetup> setups;
    for (std::size_t k = known; k < places.size(); ++k) setups.push_back(contenders_.SetUp(places[k], places));
    watcher_.Begin(SessionsOf(setups), places.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
      // Of the first case the load is known, and by now in part our own.
      FinishedCase finished =
          k < known ? options_.known[k] : RunPlace(places[k], setups[k - known], k == known ? load_ : backend_.Load());
      NeedMemory(finished, k + 1 == places.size());
      if (k >= known) watcher_.Measured(finished);
      Take(places[k], std::move(finished));
    }
  }

  // Places at which some row is to run, and none does.
  std::vector<std::string> StuckIn(const std::vector<ResultRow>& rows) const {
    const std::vector<Verdict> verdicts = Judge(rows, run_.expectations);
    const std::set<const ResultRow*> expected = ExpectedNotToRun(verdicts);
    return PointsWithoutStrategy(run_, rows, [&](const ResultRow& row) { return expected.contains(&row); });
  }

  void JudgeLoad(double load) {
    MachineNoise& noise = result_.set.noise;
    noise.load = load_ = load;
    for (const auto& machine : run_.machines) noise.room = std::max(noise.room, backend_.Room(machine->machine));
    watcher_.Before(noise);
  }

  void Note(std::vector<std::string> notes) {
    std::move(notes.begin(), notes.end(), std::back_inserter(result_.set.notes));
  }

  CaseOptions OptionsOf() const {
    CaseOptions options;
    options.steps = options_.steps;
    options.seed = options_.seed;
    options.memory = options_.memory;
    options.progress = [this] { watcher_.SessionDone(); };
    return options;
  }

  std::size_t SessionsOf(const std::vector<CaseSetup>& setups) const {
    std::size_t sessions = 0;
    for (const CaseSetup& setup : setups) {
      if (AnyRuns(setup)) sessions += static_cast<std::size_t>(CaseSessions(setup, OptionsOf()));
    }
    return sessions;
  }

  // `load`: before it.
  FinishedCase RunPlace(const Place& place, const CaseSetup& setup, double load) {
    FinishedCase finished;
    MachineNoise noise{.load = load, .room = backend_.Room(run_.machines[place.machine]->machine)};
    MeasuredPace pace = device_.PaceOf(place.machine);
    CaseResult found = RunIfItCan(place, setup, [&](const FollowedPace& followed, CaseResult& measured) {
      pace = followed.pace();
      followed.PredictOtherwise(setup, measured.rows);
      finished.models = PredictionsOfAll(setup, followed.CostsOf(setup), measured.rows);
      finished.observed = ObservedOf(place, setup, followed.CostsOf(setup), measured);
      noise.launches = LaunchesDiffer(followed.probes());
    });
    noise.load = std::max(noise.load, backend_.Load());
    noise.rounds = RoundsDiffer(found.rows);
    finished.place = CaseOf(place, found);
    finished.place.pace = pace;
    finished.place.noise = noise;
    JudgeCase(found.rows, options_.seed, finished.place);
    finished.rows = std::move(found.rows);
    finished.reserve = found.reserve;
    finished.no_memory = std::move(found.no_memory);
    for (std::string& note : found.notes) finished.notes.push_back(finished.place.network + ": " + std::move(note));
    for (std::size_t k = 0; k < place.planned.size(); ++k) {
      finished.classes.push_back(place.planned[k].result.row.plan.classes);
      if (k < found.steps.size())
        finished.steps.emplace_back(place.planned[k].point->row.point, std::move(found.steps[k]));
    }
    return finished;
  }

  // Of a case that is finished, now or by an earlier run.
  void Take(const Place& place, FinishedCase finished) {
    device_.NoteReserve(place.machine, finished.reserve);
    ValidationSet& set = result_.set;
    const std::size_t index = set.cases.size();
    for (ValidationRow& row : finished.rows) {
      row.case_index = static_cast<int>(index);
      Judgement judgement;
      NoteFailures(finished.place, row, backend_.traits().numerics_tolerance, judgement);
      Note(std::move(judgement.notes));
      std::move(judgement.failures.begin(), judgement.failures.end(), std::back_inserter(result_.failures));
    }
    for (std::size_t k = 0; k < place.planned.size(); ++k) {
      finished.rows[k].point = place.planned[k].point->row.point;
      AddResult(place.planned[k].point->row, finished.rows[k], finished.classes[k]);
    }
    Note(std::move(finished.notes));
    set.noise.Add(finished.place.noise);
    set.cases.push_back(std::move(finished.place));
    std::move(finished.rows.begin(), finished.rows.end(), std::back_inserter(set.rows));
    std::move(finished.models.begin(), finished.models.end(), std::back_inserter(by_model_));
    watcher_.CaseDone(set, index);
  }

  // A device that cannot be had, or had to be given up, is this case's failure. Others may do with less, or of another
  // machine; where it is lost for good they fail as soon as they begin. Where nothing fits, as was expected, none is
  // opened.
  template <typename Measured>
  CaseResult RunIfItCan(const Place& place, const CaseSetup& setup, const Measured& measured) {
    if (!AnyRuns(setup)) return FailedCase(setup, "");
    try {
      const std::unique_ptr<ExecutionDevice> device = device_.Open(place.machine, options_.seed);
      FollowedPace followed(device_, place.machine, backend_.clock());
      CaseOptions options = OptionsOf();
      options.between = [&](bool end) { followed.Look(end); };
      options.beside = [&] { followed.LookWhoWaits(); };
      options.settled = [&] { return followed.Settle(); };
      CaseResult found = RunCase(setup, *device, backend_.clock(), options);
      measured(followed, found);
      const std::string placement = device->LastSession().placement;
      if (!std::exchange(placed_, true) && !placement.empty()) result_.set.notes.push_back(placement);
      return found;
    } catch (const DeviceError& error) {
      return FailedCase(setup, fmt::format("{}: {}", FaultName(error.fault()), error.what()));
    } catch (const UserError& error) {
      return FailedCase(setup, error.what());
    } catch (const std::bad_alloc&) {
      return FailedCase(setup, "this process has no memory left");
    }
  }

  // Limits that this machine has no memory for are a mistake, where no case is left that it has. Cases without a plan say
  // nothing about it.
  void NeedMemory(const FinishedCase& found, bool last) {
    const auto any = [&](bool (*holds)(const ValidationRow& row)) {
      return std::any_of(found.rows.begin(), found.rows.end(), holds);
    };
    if (any([](const ValidationRow& row) { return row.feasible; })) {
      has_memory_ = has_memory_ || found.no_memory.empty() || any([](const auto& row) { return row.Measured(); });
      no_memory_ = found.no_memory;
    }
    if (last && !has_memory_ && !no_memory_.empty()) throw UserError(no_memory_);
  }

  ValidationCase CaseOf(const Place& place, const CaseResult& found) const {
    const ResultRow& row = place.planned.front().point->row;
    ValidationCase c;
    c.scenario = row.scenario;
    c.network = row.network;
    c.network_base = row.grouping.network;
    c.machine = row.machine;
    c.device = run_.machines[place.machine]->machine.devices[0].name;
    c.batch = row.batch;
    c.memory_limit = place.limit;
    c.link = device_.LinkOf(place.machine);
    c.profile_reserve = run_.machines[place.machine]->machine.devices[0].reserve;
    c.measured_reserve = found.reserve;
    c.in_core = found.in_core;
    c.in_core_predicted = found.in_core_predicted;
    c.in_core_split = found.in_core_split;
    return c;
  }

  // Only what was found when the row was measured: the plans of now may be others.
  void AddResult(ResultRow result, const ValidationRow& row, const ClassCounts& classes) {
    result.feasible = row.Measured();
    result.reason = row.reason;
    result.plan.classes = classes;
    result.times.step = static_cast<Nanos>(row.measured);
    result_.results.push_back(std::move(result));
  }

  void Conclude() {
    const double load = load_ < 0 ? -1 : backend_.Load();
    result_.set.noise.load = std::max(result_.set.noise.load, load);
    if (load > 0) {
      result_.set.notes.push_back(fmt::format(
          "load of the machine {:.1f} at the start, {:.1f} at the end; what waits for a core is measured as "
          "slower",
          load_, load));
    }
    Note(device_.Reserves());
    Note(device_.Lost());
    if (!result_.stopped) Note(device_.Drift());  // else whoever waits for the end would wait for that too
    SummariseSet(result_.set);
    const std::vector<ModelPredictions> models = ModelsOf(by_model_, result_.set.rows);
    result_.set.falsification = Falsify(result_.set, models, options_.seed);
    result_.set.scaled_falsification = Falsify(result_.set, ScaledByCase(result_.set, models), options_.seed);
    AllowCommonFactors(result_.set.scaled_falsification, result_.set.falsification);
  }

  PreparedRun& run_;
  DeviceBackend& backend_;
  const ValidateOptions& options_;
  ValidateWatcher& watcher_;
  DeviceAsFound device_;
  Contenders contenders_;
  std::function<void()> check_;                // throws Stopped
  std::vector<std::vector<double>> by_model_;  // FinishedCase::models of all cases
  double load_ = -1;                           // at the start
  bool placed_ = false;                        // where cases run has been noted
  bool has_memory_ = false;                    // a plan was measured, or failed for another reason
  std::string no_memory_;                      // else of the last case that has a plan: why not
  Validated result_;
};

}  // namespace

Validated ValidateRun(PreparedRun& run, DeviceBackend& backend, const ValidateOptions& options,
                      ValidateWatcher& watcher) {
  return Validation(run, backend, options, watcher).Run();
}

}  // namespace spillway
