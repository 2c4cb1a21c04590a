// From a scenario to the points to run: everything loaded, built and checked, nothing simulated yet.
//
// After this no mistake of the user's can turn up any more, so a run that starts also writes.
#ifndef SPILLWAY_SCENARIOS_RUN_PREPARE_H_
#define SPILLWAY_SCENARIOS_RUN_PREPARE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/network/network.h"
#include "model/recorded/recorded_step.h"
#include "reports/rows/result.h"
#include "scenarios/file/scenario.h"
#include "sim/planning/strategy.h"

namespace spillway {

// The source from which networks of all batches are built; a file is read once.
struct NetworkSource {
  NetworkChoice choice;                          // without its batches
  std::shared_ptr<const Document> document;      // of a file, else nullptr
  std::shared_ptr<const RecordedStep> recorded;  // of a graph, else nullptr
  std::string label;
  std::string file{};           // " (slow.json)" behind the name where another network of the run has the same; else ""
  std::string OwnName() const;  // in the zoo or in the file
};

// The name of a recorded step's options, in place of a StepOptions name.
constexpr const char* kRecordedOptions = "recorded";

// One network at one batch, unrolled.
struct PreparedStep {
  std::string network;       // label
  std::string network_base;  // name in the zoo or in the file, with NetworkSource::file
  std::string own_name;      // TrainingStep::network, as plans have it
  std::string precision;
  std::int64_t sample_elements = 0;
  std::int64_t batch = 0;
  Nanos framework_time = 0;      // StepOptions::framework_time
  bool waits_for_calls = false;  // StepOptions::waits_for_calls
  std::shared_ptr<const NetworkSource> source;
  std::string options;       // how it is unrolled; kRecordedOptions of a recorded step
  std::uint64_t digest = 0;  // of `step`
  Network net;               // empty where steps are not kept, see PreparedRun
  TrainingStep step;         // of `net`, likewise
};

// A machine with what the scenario changes about it. Costs refer to the machine, so it does not move.
struct PreparedMachine {
  std::string label;
  std::string base;
  std::string beside_link;  // the label without what it says of the link
  std::string from;         // as the scenario names it
  double link_rate = 0;     // as the scenario has it, bytes per nanosecond; 0 = the profile's
  Emulation emulation;      // the machine below has its link, the costs its kernels
  std::string emulated_at;  // its place, "file:line:column"
  double profile_rate = 0;  // of large copies by the profile, mean of both directions
  Machine machine;
  std::unique_ptr<CostModel> costs;
  std::string times_note{};  // of a recorded step's times on this machine (CarriedTimes::note)
};

// Indices into PreparedRun. `row` holds everything that is known before the simulation.
struct Point {
  std::size_t step = 0;
  std::size_t machine = 0;
  std::size_t planned_on = 0;          // machine the plan is made for, usually the same
  const Strategy* strategy = nullptr;  // nullptr: `plan` is given
  std::shared_ptr<const Plan> plan;
  bool use_runtime = false;
  Runtime runtime;
  Bytes planned_capacity = 0;
  bool own_memory = false;  // the scenario states none: the machine's
  StrategyParameters parameters{};
  ResultRow row;
};

// The result of Prepare for one or more scenarios: points, and the steps and machines that points refer to by index.
// Owns all of them. Must not change while points run.
struct PreparedRun {
  // true: `steps` hold networks and steps, of 0.2 to 2 MB each. false, better with thousands of batches: StepOf builds
  // them again when a point needs them. Set before Prepare.
  bool keep_steps = true;
  // true: rows have lower bounds, which take most of the time for deep networks. false: bounds are 0.
  bool bounds = true;
  std::vector<std::unique_ptr<PreparedStep>> steps;
  std::vector<std::unique_ptr<PreparedMachine>> machines;
  std::vector<Point>
      points;  // network, machine, link, emulation, memory, batch, runtime, strategy: the last changes fastest
  std::vector<Expectation> expectations;
  std::vector<std::string> warnings;        // what the scenarios say to no effect, with their places
  std::vector<std::string> choices;         // options that choose among the points: "--where link=6GB/s (or 12GB/s)"
  std::size_t unselected = 0;               // expectations left out, since the command line leaves them no point
  std::set<std::string> names;              // ResultRow::point of all points
  std::map<std::string, Machine> profiles;  // of the machines, by PreparedMachine::from: as loaded, and checked
};

// Appends the scenario's points; of --plan those with the plan's network, batch and machine. Throws UserError: a
// network or plan that cannot be built, no point for a plan, an expectation that selects no point (unless `overrides`
// left its points out).
void Prepare(const Scenario& scenario, const Overrides& overrides, PreparedRun& run);

// The step with network and ops: that of the run where it keeps them, else built for who asks. May be called by several
// threads. REQUIRES: `run` outlives it.
std::shared_ptr<const PreparedStep> StepOf(const PreparedRun& run, std::size_t index);

// StepAtBatch: the step of the same network and options at another batch. StepOfPlan: the step in `accumulate`
// micro-batches (Plan::accumulate). REQUIRES: `accumulate` divides the batch; a recorded step stays as it is.
TrainingStep StepAtBatch(const PreparedStep& step, std::int64_t batch);
TrainingStep StepOfPlan(const PreparedStep& step, std::int64_t accumulate);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_PREPARE_H_
