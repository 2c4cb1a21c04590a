#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <vector>

#include "model/unroll/unroll.h"
#include "reports/tables/shares.h"
#include "scenarios/cli/show.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostShares = 32;

struct MachineAndCosts {
  std::unique_ptr<Machine> machine;  // stays where it is: the costs point to it
  std::unique_ptr<CostModel> costs;
};

std::vector<MachineAndCosts> MachinesOf(const std::string& names) {
  if (names.empty()) throw UserError("show shares: --machine says whose: profiles, separated by commas");
  std::vector<MachineAndCosts> machines;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    MachineAndCosts of{.machine = std::make_unique<Machine>(LoadMachine(name)), .costs = {}};
    of.costs = std::make_unique<CostModel>(*of.machine);
    machines.push_back(std::move(of));
  }
  return machines;
}

// Of equal parts of the batch, as many as divide it and no more than kMostShares.
std::int64_t GrainOf(std::int64_t batch) {
  std::int64_t parts = std::min(batch, kMostShares);
  while (batch % parts != 0) --parts;
  return batch / parts;
}

// nullopt where the share does not fit.
std::optional<Nanos> TimeOf(const TrainingStep& step, const MachineAndCosts& of) {
  Problem problem;
  problem.step = &step;
  problem.costs = of.costs.get();
  problem.capacity = of.machine->devices[0].UsableMemory();
  const Planned planned = StrategyByName("ucudnn-wr").plan(problem);
  if (!planned.feasible) return std::nullopt;
  const Evaluation e = Evaluate(planned.plan, problem, {.verify = true, .bounds = false, .timeline = false});
  return e.feasible ? std::optional(e.step_time) : std::nullopt;
}

Bytes GradientBytes(const TrainingStep& step) {
  Bytes bytes = 0;
  for (const Tensor& tensor : step.tensors) {
    bytes += tensor.Traits().of_parameters && !tensor.Traits().resident ? tensor.bytes : 0;
  }
  return bytes;
}

// Of gradients among these machines: a ring through the hosts.
Nanos ExchangeOf(std::span<const MachineAndCosts> machines, Bytes gradients) {
  const auto count = static_cast<Bytes>(machines.size());
  if (count < 2) return 0;
  Nanos slowest = 0;
  for (const MachineAndCosts& of : machines) {
    for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
      slowest = std::max(slowest, of.costs->Copy(2 * (count - 1) * gradients / count, direction).time);
    }
  }
  return slowest;
}

}  // namespace

std::string ShowShares(const ShowAsked& asked, const std::function<Network(std::int64_t batch)>& build) {
  const std::vector<MachineAndCosts> machines = MachinesOf(asked.machine);
  std::vector<SharingDevice> devices;
  for (const MachineAndCosts& of : machines) devices.push_back({.name = of.machine->name, .times = {}});
  const std::int64_t grain = GrainOf(asked.batch);
  Bytes gradients = 0;
  for (std::int64_t samples = grain; samples <= asked.batch; samples += grain) {
    const TrainingStep step = BuildTrainingStep(build(samples));
    gradients = GradientBytes(step);
    for (std::size_t g = 0; g < machines.size(); ++g) {
      if (const auto time = TimeOf(step, machines[g])) devices[g].times.push_back({samples, *time});
    }
  }
  for (std::size_t g = 0; g < machines.size(); ++g) {
    devices[g].exchange = ExchangeOf(std::span(machines).first(g + 1), gradients);
  }
  return fmt::format("{} at batch {}, its samples shared out, each device by ucudnn-wr in core: analytic\n\n",
                     asked.name, asked.batch) +
         SharesTable(devices, asked.batch) +
         "\nover one: against the fastest device alone; exchange: gradients in a ring through the hosts, behind the "
         "step, assumed\n";
}

}  // namespace spillway
