#include "sim/engine/simulate.h"

#include <algorithm>
#include <cassert>

#include "model/cost/cost_model.h"
#include "sim/engine/engine_internal.h"

namespace spillway {

bool Conditions::Contention() const {
  const auto not_one = [](double factor) { return factor != 1.0; };
  const auto any_not_one = [&](const std::array<double, 2>& ways) {
    return std::any_of(ways.begin(), ways.end(), not_one);
  };
  return std::any_of(duplex_factor.begin(), duplex_factor.end(), any_not_one) ||
         std::any_of(copy_slowdown.begin(), copy_slowdown.end(), not_one);
}

namespace {

// From the copy kernel of the cost model: what a copy of next to nothing takes, and the rate beyond that.
CompactionCost CompactionCostOf(const CostModel& costs) {
  constexpr std::int64_t kMany = 1 << 28;
  const auto time = [&costs](std::int64_t elements) {
    Launch launch;
    launch.kind = OpKind::kCopy;
    launch.shape.in = launch.shape.out = Shape{1, 1, 1, 1, elements};
    return costs.Kernel(launch).time;
  };
  CompactionCost cost;
  cost.per_copy = time(1);
  const Nanos moving = time(1 + kMany) - cost.per_copy;
  if (moving > 0) cost.rate = static_cast<double>(kMany * SizeOf(DataType::kFp32)) / static_cast<double>(moving);
  return cost;
}

}  // namespace

Conditions ConditionsOf(const Program& program, const CostModel& costs, const Runtime& runtime, Bytes capacity) {
  const Machine& machine = costs.machine();
  const HostCosts& host = machine.devices[0].host_costs;
  Conditions conditions;
  const auto cost = [&conditions](Opcode opcode) -> Nanos& {
    return conditions.host_cost[static_cast<std::size_t>(opcode)];
  };
  cost(Opcode::kKernel) = host.kernel_launch + runtime.framework_time;
  cost(Opcode::kCopy) = host.copy_submit;
  cost(Opcode::kRecord) = host.event_record;
  cost(Opcode::kWait) = host.stream_wait;
  cost(Opcode::kHostSync) = host.sync;
  if (program.memory != ProgramMemory::kArena) {
    cost(Opcode::kAlloc) = host.pool_alloc;
    cost(Opcode::kFree) = host.pool_free;
    if (program.memory == ProgramMemory::kPool) conditions.pool_capacity = capacity;
  }
  conditions.pool = runtime.pool;
  if (runtime.pool == PoolKind::kAddresses) conditions.compaction = CompactionCostOf(costs);
  conditions.blocking_copies = runtime.blocking_copies;
  conditions.collection_time = runtime.collection_time;
  conditions.framework_time = runtime.framework_time;
  for (const Link& link : machine.links) conditions.duplex_factor.push_back(link.duplex_factor);
  const LaunchCosts& issue = costs.launch_costs();
  for (const Launch& launch : program.launches) {
    if (issue.differ()) conditions.launch_cost.push_back(issue.Of(launch.kind, launch.pass) + runtime.framework_time);
    conditions.copy_slowdown.push_back(costs.Kernel(launch).copy_slowdown);
  }
  return conditions;
}

namespace {

bool Relaxes(const Program& program, const Conditions& conditions) {
  return !conditions.Contention() && (program.memory != ProgramMemory::kPool || conditions.pool == PoolKind::kBytes);
}

}  // namespace

Simulated Simulate(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                   Scratch& scratch, Timeline* timeline) {
  return Relaxes(program, conditions) ? SimulateRelax(program, durations, conditions, scratch, timeline)
                                      : SimulateEvents(program, durations, conditions, scratch, timeline);
}

Simulated SimulateTimes(const Program& program, std::span<const Nanos> durations, const Conditions& conditions,
                        Scratch& scratch) {
  if (!Relaxes(program, conditions)) return SimulateEventTimes(program, durations, conditions, scratch);
  if (IsForRelaxArena(program, conditions)) {
    return SimulateRelaxArena(program, durations, conditions, scratch, false);
  }
  Simulated simulated = SimulateRelax(program, durations, conditions, scratch);
  simulated.live_peak = 0;
  return simulated;
}

std::vector<Nanos> ReplayDurations(const Program& program, const Timeline& timeline) {
  std::vector<Nanos> durations(program.code.size(), 0);
  for (const Span& span : timeline.spans) durations[span.instruction] = span.end - span.start;
  return durations;
}

}  // namespace spillway
