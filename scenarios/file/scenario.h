// A scenario: which networks on which machines with which strategies, and what is known about the outcome.
//
//   name: ResNet-50 beyond 16 GB
//   network: {zoo: resnet50, image: 224, batch: [128, 256]}
//   machines: [v100-x86-pcie3, mine.yaml]
//   strategies: [in-core, pooch, {strategy: pooch, planned_on: v100-power9-nvlink2}]
//   memory: 12 GiB
//   expect: [{strategy: pooch, batch: 256, samples_per_second: 195, source: "PoocH, fig. 17"}]
//
// A list anywhere is swept; all combinations are run. All keys: scenario_keys.cc, which `spillway help scenario` prints.
// Options of the command line may replace what the file says (Overrides).
//
// Tested by cli_test and prepare_test (tests/).
#ifndef SPILLWAY_SCENARIOS_FILE_SCENARIO_H_
#define SPILLWAY_SCENARIOS_FILE_SCENARIO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/text/document.h"
#include "model/network/network.h"
#include "model/zoo/zoo.h"
#include "reports/rows/expectation.h"
#include "sim/plan/plan.h"
#include "sim/planning/strategy_parameters.h"

namespace spillway {

struct RecordedStep;  // model/recorded/recorded_step.h

constexpr std::int64_t kMostBatch = 1'000'000;

constexpr Bytes kGrantOfOptions = -1;  // of Scenario::workspace: as the framework of `options` grants

// One network with everything but the batch decided.
struct NetworkChoice {
  std::string zoo;                                             // a name of the zoo, or
  std::string file;                                            // a path, or
  std::string graph{};                                         // the path of a recorded step, which has its own batch
  std::shared_ptr<const RecordedStep> recorded{};              // what was read there, where it has been read
  std::int64_t image = 0, width = 0, frames = 0, classes = 0;  // as in ZooOptions; 0 = the network's usual
  std::vector<std::int64_t> batch;
  Mark mark;
  std::string precision{};  // a row of PrecisionTable(); "": the network's own
  std::string optimizer{};  // a row of OptimizerTable(); "": the network's own, or that of the options
};

ZooOptions ZooOptionsOf(const NetworkChoice& choice, std::int64_t batch);

struct MachineChoice {
  std::string from{};     // a shipped profile, or a path
  std::string name{};     // in results; "" = the profile's
  std::string host{};     // "" = the nearest node
  bool pageable = false;  // copies to and from memory that is not pinned
  std::string Label() const { return name.empty() ? from : name; }
  auto operator<=>(const MachineChoice&) const = default;
};

struct StrategyChoice {
  std::string name;
  std::string planned_on;  // a machine: the plan is made for it and then carried out on the point's
  Mark mark;
  StrategyParameters parameters{};  // in the order of the strategy's table
  std::string Label() const;        // "pooch", "pooch@v100-power9-nvlink2", "pooch:rungs=4"
};

struct RuntimeChoice {
  std::string name;  // "" = the strategy's own
  Runtime runtime;
  // Its framework_time, and that calls wait, are those of the step's options (StepOptions), which have a time.
  bool framework_of_options = false;
  Mark framework_mark{};  // where that stands
};

// Another machine's balance of computing and copying on this one.
struct Emulation {
  double compute_slowdown = 1;  // at least 1: every kernel takes this many times as long
  double link_rate = 0;         // bytes per nanosecond of a copy in each direction, at most; 0 = as the link is
  Mark mark{};                  // where it stands, in the scenario's file
  bool Any() const { return compute_slowdown > 1 || link_rate > 0; }
  std::string Label() const;  // "5x,8GB/s"
};

struct Scenario {
  std::string name;
  std::string file;  // as given by the user
  std::vector<NetworkChoice> networks;
  std::vector<MachineChoice> machines;
  std::vector<StrategyChoice> strategies;
  std::vector<std::string> options;     // at least one
  std::vector<RuntimeChoice> runtimes;  // at least one
  // At least one each; 0 = as the machine has it.
  std::vector<Bytes> memory, usable_memory;
  Mark memory_mark{};              // where `memory` stands
  std::vector<Bytes> workspace;    // at least one; kGrantOfOptions, or what a call is granted, which may be nothing
  std::vector<double> link;        // bytes per nanosecond
  std::vector<Emulation> emulate;  // at least one
  std::vector<Expectation> expectations;
};

// Throws UserError with every mistake in the file, and in the files it names.
Scenario LoadScenario(const std::string& path);
Scenario ReadScenario(const Document& document);

// Command line options that replace what the scenario says. Empty: as the scenario has it.
struct Overrides {
  std::vector<std::string> machines{};
  std::vector<std::string> strategies{};
  std::vector<std::int64_t> batch{};
  std::string memory{};  // with its unit
  std::string runtime{};
  std::vector<std::string> where{};  // "AXIS=VALUE": of the scenario's values that one (where.h)
  std::string plan{};                // path: this plan in place of the strategies
  bool plan_on_any_machine = false;  // whatever the plan says that it was made for
  // Path: samples of a measured step, in place of what the machine's profile says of its launches and copies
  // (calibrate/validate/step_costs.h). All machines of the run have to be the one that was measured.
  std::string costs{};
  bool Any() const;
};

// Throws UserError for names and values that do not exist. Expectations that no longer apply are dropped by Prepare.
void ApplyOverrides(const Overrides& overrides, Scenario& scenario);

// `path` as seen from the folder that `file` is in.
std::string RelativeTo(const std::string& file, const std::string& path);

// The names that scenarios and the command line may use.
std::vector<std::string> ZooNames();
std::vector<std::string> StrategyNames();
std::vector<std::string> RuntimeNames();
std::vector<std::string> OptionNames();
std::vector<std::string> FrameworkNames();  // options of which the host's part is known

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_FILE_SCENARIO_H_
