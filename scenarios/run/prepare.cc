#include "scenarios/run/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "hw/text/lists.h"
#include "model/unroll/unroll.h"
#include "scenarios/file/where.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/precision_warning.h"
#include "scenarios/run/prepare_internal.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

// Memory to plan with: the machine's own or the one put in its place, below the cap.
Bytes CapacityOf(const Machine& machine, Bytes usable, Bytes cap) {
  const Bytes own = usable > 0 ? usable : machine.devices[0].UsableMemory();
  return cap > 0 ? std::min(cap, own) : own;
}

class Preparer {
 public:
  Preparer(const Scenario& scenario, const Overrides& overrides, PreparedRun& run)
      : scenario_(scenario), overrides_(overrides), run_(run) {
    if (!overrides.plan.empty()) plan_.emplace(overrides);
  }

  void Prepare() {
    for (const std::string& choice : ChoicesOf(scenario_)) AddOnce(run_.choices, choice);
    const std::size_t first = run_.points.size();
    const std::vector<std::shared_ptr<NetworkSource>> sources = SourcesOf(scenario_.networks);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      // A recorded step is as it is; whose host issues it may be asked for all the same.
      const std::vector<std::string> as_it_is{kRecordedOptions};
      const bool unrolled = sources[i]->recorded == nullptr || OfFramework();
      for (const std::string& options : unrolled ? scenario_.options : as_it_is) {
        AddNetwork(sources[i], scenario_.networks[i].batch, options);
      }
    }
    if (!mistakes_.empty()) throw UserError(std::move(mistakes_));
    if (run_.points.size() == first) RefuseEmpty();
    AddExpectations(first);
  }

 private:
  bool OfFramework() const {
    return std::any_of(scenario_.runtimes.begin(), scenario_.runtimes.end(),
                       [](const RuntimeChoice& runtime) { return runtime.framework_of_options; });
  }

  [[noreturn]] void RefuseEmpty() const {
    if (plan_) plan_->RefuseScenario(scenario_.name);
    throw UserError(
        fmt::format("{}: scenario '{}' has no point: all its strategies are planned on the machine that they "
                    "would run on",
                    scenario_.file, scenario_.name));
  }

  void AddNetwork(const std::shared_ptr<const NetworkSource>& source, const std::vector<std::int64_t>& batches,
                  const std::string& options) {
    recorded_ = source->recorded;
    std::vector<std::size_t> steps;
    for (const std::int64_t batch : batches) {
      run_.steps.push_back(PrepareStep(source, options, batch, run_.keep_steps));
      if (scenario_.options.size() > 1 && options != kRecordedOptions) run_.steps.back()->network += "+" + options;
      steps.push_back(run_.steps.size() - 1);
    }
    const bool divides = recorded_ == nullptr && StepOptionsByName(options).divides_large_calls;
    large_calls_ = divides ? LargeCalls::kDivided : LargeCalls::kRefused;
    for (const Bytes workspace : scenario_.workspace) {
      workspace_said_ = workspace != kGrantOfOptions;
      const Bytes usual = recorded_ != nullptr ? kMostWorkspace : StepOptionsByName(options).workspace_limit;
      workspace_ = workspace_said_ ? workspace : usual;
      for (const MachineChoice& machine : scenario_.machines) {
        for (const double link : scenario_.link) {
          for (const Emulation& emulation : scenario_.emulate) {
            AddMachine(steps, MachineIndex(machine, link, emulation), machine.Label());
          }
        }
      }
    }
  }

  void AddMachine(const std::vector<std::size_t>& steps, std::size_t machine, const std::string& name) {
    for (const Bytes usable : scenario_.usable_memory) {
      for (const Bytes cap : scenario_.memory) {
        WarnOfCap(*run_.machines[machine], usable, cap);
        for (const std::size_t step : steps) {
          for (const RuntimeChoice& runtime : scenario_.runtimes) {
            if (!overrides_.plan.empty()) {
              AddPlanned(step, machine, usable, cap, runtime);
            } else {
              for (const StrategyChoice& s : scenario_.strategies)
                AddChosen(step, machine, name, usable, cap, runtime, s);
            }
          }
        }
      }
    }
  }

  void AddChosen(std::size_t step, std::size_t machine, const std::string& name, Bytes usable, Bytes cap,
                 const RuntimeChoice& runtime, const StrategyChoice& choice) {
    if (choice.planned_on == name) return;  // that is the plain strategy
    Point point = NewPoint(step, machine, usable, cap, runtime);
    point.strategy = &StrategyByName(choice.name);
    CheckBatch(*point.strategy, choice, point.row.batch);
    if (choice.planned_on.empty()) point.row.grouping.choices = point.strategy->choices;
    point.row.strategy = choice.Label() + RuntimeSuffix(runtime);
    point.parameters = choice.parameters;
    for (const auto& [parameter, value] : choice.parameters.values()) {
      point.row.parameters.emplace_back(parameter, ParameterText(value));
    }
    if (!choice.planned_on.empty()) {
      point.planned_on = MachineIndex({.from = choice.planned_on}, 0, {});
      point.planned_capacity = CapacityOf(run_.machines[point.planned_on]->machine, usable, cap);
    }
    const std::string called = point.row.strategy;
    Add(std::move(point), called);
  }

  // Points come by the thousand: each mistake once.
  void CheckBatch(const Strategy& strategy, const StrategyChoice& choice, std::int64_t batch) {
    const std::string mistake = strategy.mistake == nullptr ? "" : strategy.mistake(choice.parameters, batch);
    if (mistake.empty()) return;
    AddOnce(mistakes_, fmt::format("{}:{}:{}: error: {}: {}", scenario_.file, choice.mark.line, choice.mark.column,
                                   choice.name, mistake));
  }

  void AddPlanned(std::size_t step, std::size_t machine, Bytes usable, Bytes cap, const RuntimeChoice& runtime) {
    const std::shared_ptr<const Plan> plan = plan_->For(run_, step, *run_.machines[machine]);
    if (plan == nullptr) return;
    Point point = NewPoint(step, machine, usable, cap, runtime);
    point.plan = plan;
    const std::string by = plan->strategy.empty() ? "plan" : plan->strategy;
    const std::string file = std::filesystem::path(overrides_.plan).filename().string();
    // A file may have been changed since a strategy wrote it: it is not that strategy's row, and no in-core reference.
    point.row.strategy = fmt::format("{} ({}){}", by, file, RuntimeSuffix(runtime));
    Add(std::move(point), by + "-given" + RuntimeSuffix(runtime));
  }

  // A cap above what there is caps nothing; whoever writes one may want more memory than the machine has.
  void WarnOfCap(const PreparedMachine& on, Bytes usable, Bytes cap) {
    const Bytes own = CapacityOf(on.machine, usable, 0);
    if (cap <= own) return;
    const Mark& at = scenario_.memory_mark;
    const std::string place = overrides_.memory.empty()
                                  ? fmt::format("{}:{}:{}: warning: memory:", scenario_.file, at.line, at.column)
                                  : "--memory: warning:";
    AddOnce(run_.warnings, fmt::format("{} {} is more than the {} of {}, which are planned with; memory only caps, "
                                       "another size is usable_memory: {}",
                                       place, FormatBytesExact(cap), FormatBytes(own), on.base, FormatBytesExact(cap)));
  }

  Point NewPoint(std::size_t step, std::size_t machine, Bytes usable, Bytes cap, const RuntimeChoice& runtime) {
    Point point;
    point.step = step;
    point.machine = point.planned_on = machine;
    point.use_runtime = !runtime.name.empty();
    point.runtime = runtime.runtime;
    const PreparedStep& s = *run_.steps[step];
    if (runtime.framework_of_options) TakeFramework(s, point.runtime);
    const PreparedMachine& m = *run_.machines[machine];
    ResultRow& row = point.row;
    row.scenario = scenario_.name;
    row.network = s.network;
    row.grouping.network = s.network_base;
    row.grouping.options = s.options;
    row.batch = s.batch;
    row.grouping.sample_elements = s.sample_elements;
    row.precision = s.precision;
    const std::string precision = PrecisionWarning(s.precision, m.machine);
    if (!precision.empty()) AddOnce(run_.warnings, fmt::format("{}: warning: {}", scenario_.file, precision));
    row.machine = m.label;
    row.grouping.machine = m.base;
    row.grouping.beside_link = m.beside_link;
    const Link& link = m.machine.LinkOf(0);
    row.grouping.link_rate = (link.curves[0].Rate() + link.curves[1].Rate()) / 2;
    row.emulation = m.emulation.Any() ? m.emulation.Label() : "";
    row.memory_limit = point.planned_capacity = CapacityOf(m.machine, usable, cap);
    point.own_memory = usable == 0 && cap == 0;
    return point;
  }

  // Its host's time and waits, and what of them is assumed.
  void TakeFramework(const PreparedStep& step, Runtime& runtime) {
    runtime.framework_time = step.framework_time;
    if (step.waits_for_calls) runtime.barrier = Barrier::kCall;
    if (step.framework_time == 0) return;
    const std::string assumed = StepOptionsByName(step.options).assumed_of_host;
    if (assumed.empty()) return;
    AddOnce(run_.warnings, fmt::format("{}: warning: framework {}: assumed: {} ({} per op)", scenario_.file,
                                       step.options, assumed, FormatDurationExact(step.framework_time)));
  }

  static std::string RuntimeSuffix(const RuntimeChoice& runtime) {
    return runtime.name.empty() ? "" : "+" + runtime.name;
  }

  // `called`: as the strategy, in the names of files. A plan's file is left out: the same run under another name of it
  // has the same files.
  void Add(Point point, const std::string& called) {
    const ResultRow& row = point.row;
    const bool default_memory =
        scenario_.memory == std::vector<Bytes>{0} && scenario_.usable_memory == std::vector<Bytes>{0};
    const std::string memory = default_memory ? "" : "_" + FormatBytesExact(row.memory_limit);
    const std::string name =
        FileName(fmt::format("{}_b{}_{}{}_{}", row.network, row.batch, row.machine, memory, called));
    point.row.point = name;
    for (int n = 2; !run_.names.insert(point.row.point).second; ++n) point.row.point = fmt::format("{}_{}", name, n);
    run_.points.push_back(std::move(point));
  }

  // Rows are told apart by label: two files that give the same name would be one machine in every table.
  void AddPrepared(std::unique_ptr<PreparedMachine> machine) {
    for (const auto& other : run_.machines) {
      if (other->label != machine->label || other->from == machine->from) continue;
      throw UserError(
          fmt::format("{}: {} and {} are both called '{}'; give one of them another name by {{name: ..., "
                      "from: ...}}",
                      scenario_.file, other->from, machine->from, machine->label));
    }
    if (!machine->times_note.empty()) {
      AddOnce(run_.warnings, fmt::format("{}: warning: {}", scenario_.file, machine->times_note));
    }
    run_.machines.push_back(std::move(machine));
  }

  std::size_t MachineIndex(const MachineChoice& choice, double link, const Emulation& emulation) {
    const auto [it, is_new] = machine_index_.try_emplace(
        {choice, link, emulation.Label(), workspace_, workspace_said_, recorded_.get(), large_calls_},
        run_.machines.size());
    if (is_new) {
      AddPrepared(PrepareMachine(
          ProfileOf(choice.from, overrides_.costs, run_), choice,
          {link, emulation, scenario_.file, workspace_, workspace_said_, overrides_.costs, recorded_, large_calls_}));
    }
    return it->second;
  }

  std::vector<const ResultRow*> RowsFrom(std::size_t first) const {
    std::vector<const ResultRow*> rows;
    for (std::size_t p = first; p < run_.points.size(); ++p) rows.push_back(&run_.points[p].row);
    return rows;
  }

  void AddExpectations(std::size_t first) {
    const auto selects = [&](const RowSelector& where) {
      return std::any_of(run_.points.begin() + static_cast<std::ptrdiff_t>(first), run_.points.end(),
                         [&](const Point& p) { return where.Matches(p.row); });
    };
    std::vector<std::string> messages;
    for (const Expectation& e : scenario_.expectations) {
      RowSelector other = e.other;
      other.scenario = e.where.scenario;
      if (selects(e.where) && (e.measure != Measure::kRatio || selects(other))) {
        run_.expectations.push_back(e);
      } else if (overrides_.Any()) {
        ++run_.unselected;
      } else {
        messages.push_back(fmt::format("{}:{}:{}: error: this expectation selects no point of the scenario; {}",
                                       scenario_.file, e.mark.line, e.mark.column,
                                       WhyNone(selects(e.where) ? other : e.where, RowsFrom(first))));
      }
    }
    if (!messages.empty()) throw UserError(std::move(messages));
  }

  const Scenario& scenario_;
  const Overrides& overrides_;
  PreparedRun& run_;
  std::optional<GivenPlan> plan_;
  std::map<std::tuple<MachineChoice, double, std::string, Bytes, bool, const RecordedStep*, LargeCalls>, std::size_t>
      machine_index_;
  std::shared_ptr<const RecordedStep> recorded_;  // the network being added, where it is recorded
  Bytes workspace_ = 0;                           // of the points being added
  bool workspace_said_ = false;
  LargeCalls large_calls_ = LargeCalls::kRefused;
  std::vector<std::string> mistakes_;
};

}  // namespace

void Prepare(const Scenario& scenario, const Overrides& overrides, PreparedRun& run) {
  Preparer(scenario, overrides, run).Prepare();
}

}  // namespace spillway
