// ucudnn-wr, ucudnn-wd: micro-cuDNN. Convolutions run in parts along the batch so that faster algorithms fit into little
// workspace; all else stays as in-core. WR reuses one workspace, with a limit for each kernel; WD divides one among all
// convolutions of the network, each of which then owns its piece for good.
//
// As published, the optimiser counts the times of kernels alone, and the host waits behind each of them when it comes to
// run them (PartWaits::kHost), whole convolutions included. `aware` counts that wait and the launch behind it; `sure` divides
// only where that pays in 90 % of the common draws of the cost model's errors (configurations.h).
//
// WD's pieces stay allocated (Workspaces::kHeld), and are all in the peak.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/planning/problem.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/ucudnn/configurations.h"
#include "sim/strategies/ucudnn/workspace_division.h"

namespace spillway {
namespace {

using ucudnn::BatchPolicy;
using ucudnn::Configuration;

constexpr std::int64_t kDefaultWorkspace = 64;  // MiB

struct Settings {
  BatchPolicy policy = BatchPolicy::kPowersOfTwo;
  Bytes workspace = 0;
  bool aware = false;
  bool sure = false;
};

Settings SettingsOf(const Problem& problem) {
  return {.policy = static_cast<BatchPolicy>(problem.parameters.Number("policy", 1)),
          .workspace = problem.parameters.Number("workspace", kDefaultWorkspace) * kMiB,
          .aware = problem.parameters.Flag("aware", false),
          .sure = problem.parameters.Flag("sure", false)};
}

// The convolutions of a network; what several of them launch alike is optimised once.
struct Convolutions {
  struct One {
    OpId op = kNoOp;
    std::size_t launch = 0;  // into `launches`
  };
  std::vector<One> all;
  std::vector<Launch> launches;
};

Convolutions ConvolutionsOf(const Problem& problem) {
  Convolutions found;
  for (std::size_t op = 0; op < problem.step->ops.size(); ++op) {
    const Launch launch = LaunchOf(problem.step->ops[op]);
    if (launch.kind != OpKind::kConvolution) continue;
    const auto known = std::find(found.launches.begin(), found.launches.end(), launch);
    found.all.push_back({static_cast<OpId>(op), static_cast<std::size_t>(known - found.launches.begin())});
    if (known == found.launches.end()) found.launches.push_back(launch);
  }
  return found;
}

// What a micro-kernel costs beyond its time: the host wakes up behind it, unless the runtime given does not wait, and
// launches the next one.
Nanos WaitOf(const Problem& problem, const Launch& launch) {
  const HostCosts& host = problem.costs->machine().devices[Index(problem.device)].host_costs;
  const bool waits = !problem.use_runtime || problem.runtime.part_waits == PartWaits::kHost;
  return (waits ? host.sync : 0) + problem.costs->launch_costs(problem.device).Of(launch.kind, launch.pass);
}

// Parts of every size take programs that grow with the square of the batch.
constexpr std::int64_t kMostTried = 1024;
// What it may choose from; with the reason where that is too much.
Planned Unplanned(const Problem& problem, const Settings& settings) {
  Planned planned;
  planned.scope = Scope{.algorithms = AlgorithmScope::kAny,
                        .workspace = settings.workspace,
                        .copy_streams = 1,
                        .parts = PartScope::kBatch};
  if (settings.policy == BatchPolicy::kAll && problem.step->batch > kMostTried) {
    planned.reason =
        fmt::format("policy: 2 tries parts of every size up to a batch of {}, this is {}; 1 tries powers of two",
                    kMostTried, problem.step->batch);
  }
  return planned;
}

// A convolution to be divided, as an optimiser sees it.
struct Divisible {
  const Problem& problem;
  const Launch& launch;
  const Settings& settings;
  Nanos per_kernel;  // what each kernel costs beside its time

  ucudnn::MicroKernels Kernels(BatchPolicy policy) const {
    return ucudnn::MicroKernelsOf(*problem.costs, launch, policy, settings.workspace, problem.device);
  }
  std::vector<Configuration> Front(BatchPolicy policy) const {
    return ucudnn::ConfigurationFront(Kernels(policy), settings.workspace, per_kernel);
  }
  ucudnn::DrawnConfigurations Draws() const { return {*problem.costs, launch, per_kernel, problem.device}; }
};

template <typename Optimise>
auto ForEachLaunch(const Problem& problem, const Convolutions& convolutions, const Settings& settings,
                   const Optimise& optimise) {
  std::vector<decltype(optimise(std::declval<const Divisible&>()))> results;
  for (const Launch& launch : convolutions.launches) {
    const Nanos per_kernel = settings.aware ? WaitOf(problem, launch) : 0;
    results.push_back(optimise(Divisible{problem, launch, settings, per_kernel}));
  }
  return results;
}

struct Chosen {
  std::vector<Configuration> configurations;  // by convolution; one without parts is left to the library
  Nanos bound = 0;                            // no other choice takes less
  Nanos Time() const {
    Nanos time = 0;
    for (const Configuration& one : configurations) time += one.time;
    return time;
  }
  Bytes Workspaces() const {
    Bytes sum = 0;
    for (const Configuration& one : configurations) sum += one.workspace;
    return sum;
  }
};

Chosen Reuse(const Problem& problem, const Convolutions& convolutions, const Settings& settings) {
  const auto by_launch = ForEachLaunch(problem, convolutions, settings, [&settings](const Divisible& one) {
    const auto fastest =
        settings.sure ? ucudnn::FastestSure(one.Front(settings.policy), one.Front(BatchPolicy::kUndivided), one.Draws())
                      : ucudnn::FastestConfiguration(one.Kernels(settings.policy), settings.workspace, one.per_kernel);
    return fastest.value_or(Configuration{});
  });
  Chosen chosen;
  for (const Convolutions::One& one : convolutions.all) chosen.configurations.push_back(by_launch[one.launch]);
  chosen.bound = chosen.Time();
  return chosen;
}

// Where the least workspaces are too much together, the configurations that need them; then the bound is 0.
Chosen Divide(const Problem& problem, const Convolutions& convolutions, const Settings& settings) {
  const auto fronts = ForEachLaunch(problem, convolutions, settings, [&settings](const Divisible& one) {
    std::vector<Configuration> front = one.Front(settings.policy);
    if (settings.sure) front = ucudnn::SureFront(front, one.Front(BatchPolicy::kUndivided), one.Draws());
    if (front.empty()) front.push_back({});
    return front;
  });
  std::vector<std::vector<ucudnn::Choice>> choices;
  for (const Convolutions::One& one : convolutions.all) {
    choices.emplace_back();
    for (const Configuration& c : fronts[one.launch]) choices.back().push_back({c.workspace, c.time});
  }
  const auto division = ucudnn::DivideWorkspace(choices, settings.workspace);
  Chosen chosen;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    chosen.configurations.push_back(fronts[convolutions.all[i].launch][division ? division->choice[i] : 0]);
  }
  chosen.bound = division ? division->bound : 0;
  return chosen;
}

OpDecision DecisionOf(OpId op, const Configuration& configuration) {
  OpDecision decision{.op = op};
  for (const ucudnn::MicroKernel& part : configuration.parts) {
    decision.parts.push_back({.samples = part.samples, .algorithm = part.algorithm, .workspace = part.workspace});
  }
  return decision;
}

Plan PlanOf(const Problem& problem, const char* strategy, const Convolutions& convolutions, const Chosen& chosen) {
  Plan plan = StartPlan(problem, strategy, "arena");
  if (!problem.use_runtime) plan.runtime.part_waits = PartWaits::kHost;
  for (std::size_t i = 0; i < chosen.configurations.size(); ++i) {
    const Configuration& configuration = chosen.configurations[i];
    if (configuration.parts.empty()) continue;
    plan.ops.push_back(DecisionOf(convolutions.all[i].op, configuration));
  }
  return plan;
}

Settings Undivided(Settings settings) {
  settings.policy = BatchPolicy::kUndivided;
  return settings;
}

bool SameRun(const Configuration& a, const Configuration& b) { return a.parts.empty() == b.parts.empty(); }

// "12 of 15 convolutions divided, 61.3 ms expected of all, 80.2 ms undivided", as the library logs it. The second figure
// is left out where some of them do not run undivided.
std::string Expected(const Chosen& chosen, const Chosen& undivided) {
  const std::vector<Configuration>& all = chosen.configurations;
  const auto divided =
      std::count_if(all.begin(), all.end(), [](const Configuration& one) { return one.parts.size() > 1; });
  std::string text = fmt::format("{} of {} convolutions divided, {} expected of all", divided, all.size(),
                                 FormatDuration(chosen.Time()));
  if (chosen.bound < chosen.Time()) text += fmt::format(" (at least {})", FormatDuration(chosen.bound));
  if (undivided.bound > 0 && std::equal(all.begin(), all.end(), undivided.configurations.begin(), SameRun)) {
    text += fmt::format(", {} undivided", FormatDuration(undivided.Time()));
  }
  return text;
}

}  // namespace

Planned PlanUcudnnReuse(const Problem& problem) {
  const Settings settings = SettingsOf(problem);
  Planned planned = Unplanned(problem, settings);
  if (!planned.reason.empty()) return planned;
  const Convolutions convolutions = ConvolutionsOf(problem);
  const Chosen chosen = Reuse(problem, convolutions, settings);
  planned.feasible = true;
  planned.plan = PlanOf(problem, "ucudnn-wr", convolutions, chosen);
  planned.plan.search = Expected(chosen, Reuse(problem, convolutions, Undivided(settings)));
  return planned;
}

Planned PlanUcudnnDivision(const Problem& problem) {
  const Settings settings = SettingsOf(problem);
  Planned planned = Unplanned(problem, settings);
  if (!planned.reason.empty()) return planned;
  const Convolutions convolutions = ConvolutionsOf(problem);
  const Chosen chosen = Divide(problem, convolutions, settings);
  const Bytes pieces = chosen.Workspaces();
  if (pieces > settings.workspace) {
    planned.reason = fmt::format("out_of_memory: the convolutions need {} of workspace together, {} are to be divided",
                                 FormatBytes(pieces), FormatBytes(settings.workspace));
    return planned;
  }
  planned.feasible = true;
  planned.plan = PlanOf(problem, "ucudnn-wd", convolutions, chosen);
  if (!problem.use_runtime) planned.plan.runtime.workspaces = Workspaces::kHeld;
  planned.plan.search =
      fmt::format("{}; {} of workspace in all", Expected(chosen, Divide(problem, convolutions, Undivided(settings))),
                  FormatBytes(pieces));
  return planned;
}

}  // namespace spillway
