#include "scenarios/cli/show_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "model/cost/measured_cost.h"
#include "model/unroll/unroll.h"
#include "reports/tables/text.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "sim/strategies/ucudnn/shares.h"

namespace spillway {

namespace {

using ucudnn::Shares;
using ucudnn::ShareTime;

constexpr std::int64_t kMostShares = 32;

struct SharingDevice {
  std::unique_ptr<Machine> machine;  // stays where it is: the costs point to it
  std::unique_ptr<CostModel> costs;
  std::vector<ShareTime> times;
};

std::vector<SharingDevice> DevicesOf(const std::string& names) {
  if (names.empty()) throw UserError("show shares: --machine says whose: profiles, separated by commas");
  std::vector<SharingDevice> devices;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    SharingDevice device{.machine = std::make_unique<Machine>(LoadMachine(name)), .costs = {}, .times = {}};
    CheckMeasured(*device.machine, name);
    device.costs = std::make_unique<CostModel>(*device.machine);
    devices.push_back(std::move(device));
  }
  return devices;
}

// Of equal parts of the batch, as many as divide it and no more than kMostShares.
std::int64_t GrainOf(std::int64_t batch) {
  std::int64_t parts = std::min(batch, kMostShares);
  while (batch % parts != 0) --parts;
  return batch / parts;
}

// nullopt where the share does not fit.
std::optional<Nanos> TimeOf(const TrainingStep& step, const SharingDevice& device) {
  Problem problem;
  problem.step = &step;
  problem.costs = device.costs.get();
  problem.capacity = device.machine->devices[0].UsableMemory();
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

Nanos ExchangeOf(const std::vector<const SharingDevice*>& devices, Bytes gradients) {
  const auto count = static_cast<Bytes>(devices.size());
  if (count < 2) return 0;
  Nanos slowest = 0;
  for (const SharingDevice* device : devices) {
    for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
      slowest = std::max(slowest, device->costs->Copy(2 * (count - 1) * gradients / count, direction).time);
    }
  }
  return slowest;
}

std::string SharesText(const std::vector<SharingDevice>& devices, const Shares& shares) {
  std::string text;
  for (std::size_t g = 0; g < shares.samples.size(); ++g) {
    text += fmt::format("{}{} {}", g == 0 ? "" : ", ", devices[g].machine->name, shares.samples[g]);
  }
  return text;
}

std::string Times(Nanos alone, Nanos time) {
  return fmt::format("{:.2f}x", static_cast<double>(alone) / static_cast<double>(time));
}

}  // namespace

std::string ShowShares(const ShowAsked& asked, const std::function<Network(std::int64_t batch)>& build) {
  std::vector<SharingDevice> devices = DevicesOf(asked.machine);
  const std::int64_t grain = GrainOf(asked.batch);
  Bytes gradients = 0;
  for (std::int64_t samples = grain; samples <= asked.batch; samples += grain) {
    const TrainingStep step = BuildTrainingStep(build(samples));
    gradients = GradientBytes(step);
    for (SharingDevice& device : devices) {
      if (const auto time = TimeOf(step, device)) device.times.push_back({samples, *time});
    }
  }
  std::vector<std::vector<ShareTime>> times;
  Nanos alone = 0;  // the fastest device by itself
  for (const SharingDevice& device : devices) {
    if (const auto whole = ucudnn::ShareOut({device.times}, asked.batch)) {
      alone = alone == 0 ? whole->time : std::min(alone, whole->time);
    }
  }
  TextTable table({"<devices and their samples", "slowest", "over one", "exchange", "with it"});
  std::vector<const SharingDevice*> taken;
  for (const SharingDevice& device : devices) {
    times.push_back(device.times);
    taken.push_back(&device);
    const auto shares = ucudnn::ShareOut(times, asked.batch);
    if (!shares) {
      table.Row({fmt::format("the first {}: the batch does not fit", times.size()), "", "", "", ""});
      continue;
    }
    const Nanos exchange = ExchangeOf(taken, gradients);
    const auto over = [alone](Nanos time) { return alone > 0 ? Times(alone, time) : std::string("-"); };
    table.Row({SharesText(devices, *shares), FormatDuration(shares->time), over(shares->time), FormatDuration(exchange),
               over(shares->time + exchange)});
  }
  return fmt::format("{} at batch {}, its samples shared out, each device by ucudnn-wr in core: analytic\n\n",
                     asked.name, asked.batch) +
         table.Text() +
         "\nover one: against the fastest device alone; exchange: gradients in a ring through the hosts, behind the "
         "step, assumed\n";
}

}  // namespace spillway
