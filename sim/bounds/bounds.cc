#include "sim/bounds/bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/bounds/memory_bound.h"

namespace spillway {

namespace {

// The curve is linear between its points and goes on at its last slope, so its best rate is that of a point or the
// last slope. CostModel rounds a copy's time to whole nanoseconds; a slope that is a whole number leaves nothing to
// round below it.
CopyRate BestRate(const TransferCurve& curve) {
  const auto slope = [](Nanos time, Bytes bytes) { return static_cast<double>(time) / static_cast<double>(bytes); };
  const TransferCurve::Point& last = curve.points.back();
  const TransferCurve::Point& previous = curve.points[curve.points.size() - 2];
  double best = slope(last.time - previous.time, last.bytes - previous.bytes);
  for (const TransferCurve::Point& point : curve.points) {
    if (point.bytes > 0) best = std::min(best, slope(point.time, point.bytes));
  }
  return {best, best == std::floor(best) ? 0.0 : 0.5};
}

// Bytes of the inputs whose first use is an op up to `last`.
Bytes InputBytes(const StepTables& tables, OpId last) {
  Bytes sum = 0;
  for (const TensorId t : tables.inputs) {
    const std::vector<OpId>& uses = tables.uses.of[Index(t)];
    if (!uses.empty() && uses.front() <= last) sum += tables.step->tensors[Index(t)].bytes;
  }
  return sum;
}

// By op: the bytes that no plan can take away from it, its operands and what never moves. Sizes as they are: rounding
// them would make a bound that a finer allocator beats.
std::vector<Bytes> FixedBytes(const StepTables& tables) {
  const TrainingStep& step = *tables.step;
  std::vector<Bytes> change(step.ops.size() + 1, 0);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const std::vector<OpId>& uses = tables.uses.of[t];
    const Bytes bytes = step.tensors[t].bytes;
    if (tables.persistent[t]) {
      change.front() += bytes;
    } else if (!step.tensors[t].Traits().may_move && !uses.empty()) {
      change[Index(uses.front())] += bytes;
      change[Index(uses.back()) + 1] -= bytes;
    } else {
      for (const OpId op : uses) {
        change[Index(op)] += bytes;
        change[Index(op) + 1] -= bytes;
      }
    }
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  return change;
}

// The ways of a menu that are within the scope and `room`, the fastest first, without those that another one beats in
// both time and workspace. Where none fits, no plan exists: then any.
std::vector<OpWay> WaysWithin(const std::vector<MenuEntry>& menu, const OpWay& usual, const Scope& scope, Bytes room) {
  std::vector<OpWay> ways{usual};
  for (const MenuEntry& entry : menu) {
    const bool stated = entry.algorithm == 0 || scope.algorithms == AlgorithmScope::kAny;
    if (stated && entry.workspace <= scope.workspace) ways.push_back({entry.cost.time, entry.workspace});
  }
  std::erase_if(ways, [room](const OpWay& way) { return way.workspace > room; });
  if (ways.empty()) return {usual};
  std::sort(ways.begin(), ways.end(), [](const OpWay& a, const OpWay& b) {
    return a.time != b.time ? a.time < b.time : a.workspace < b.workspace;
  });
  std::vector<OpWay> best;
  for (const OpWay& way : ways) {
    if (best.empty() || way.workspace < best.back().workspace) best.push_back(way);
  }
  return best;
}

std::vector<std::vector<OpWay>> WaysOf(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                                       Bytes capacity, const Scope& scope) {
  const bool usual_only = scope.algorithms == AlgorithmScope::kUsual;
  const std::vector<Bytes> fixed = usual_only ? std::vector<Bytes>{} : FixedBytes(tables);
  std::vector<std::vector<OpWay>> ways;
  for (std::size_t op = 0; op < tables.step->ops.size(); ++op) {
    const std::uint32_t row = tables.launch[op];
    const Launch& launch = tables.launches[row];
    const OpWay usual{costs.Kernel(launch, tables.device).time, launch.workspace};
    if (usual_only) {
      ways.push_back({usual});
    } else {
      ways.push_back(WaysWithin(menus[row], usual, scope, capacity - fixed[op]));
    }
  }
  return ways;
}

}  // namespace

Nanos Bounds::Best() const { return std::max({compute, transfer, memory}); }

const char* Bounds::Binding() const {
  if (compute == Best()) return "compute";
  return transfer == Best() ? "transfer" : "memory";
}

LaunchMenus MenusOf(const StepTables& tables, const CostModel& costs) {
  LaunchMenus menus;
  for (const Launch& launch : tables.launches) menus.push_back(costs.Menu(launch, tables.device));
  return menus;
}

Bounds LowerBounds(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus, Bytes capacity,
                   const Scope& scope) {
  const Link& link = costs.machine().links[tables.link];
  BoundProblem problem;
  problem.step = tables.step;
  problem.ways = WaysOf(tables, costs, menus, capacity, scope);
  problem.out = BestRate(link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)]);
  problem.in = BestRate(link.curves[static_cast<std::size_t>(Direction::kHostToDevice)]);
  const auto all = static_cast<OpId>(tables.step->ops.size());
  problem.upload = static_cast<Nanos>(std::floor(problem.in.Least(InputBytes(tables, all))));
  problem.head = static_cast<Nanos>(std::floor(problem.in.Least(InputBytes(tables, 0))));
  problem.capacity = capacity;
  problem.copy_streams = scope.copy_streams;
  Bounds bounds{.compute = problem.head};
  for (const std::vector<OpWay>& ways : problem.ways) bounds.compute += ways.front().time;
  bounds.transfer = problem.upload;
  bounds.memory = std::max(bounds.compute, MemoryBound(problem));
  return bounds;
}

Bounds LowerBounds(const TrainingStep& step, const CostModel& costs, Bytes capacity, const Scope& scope, int device) {
  const StepTables tables(step, costs, device);
  const bool usual = scope.algorithms == AlgorithmScope::kUsual;
  return LowerBounds(tables, costs, usual ? LaunchMenus{} : MenusOf(tables, costs), capacity, scope);
}

}  // namespace spillway
