#include "sim/bounds/bounds.h"

#include <algorithm>
#include <cmath>

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
Bytes InputBytes(const TrainingStep& step, OpId last) {
  const Uses uses(step);
  Bytes sum = 0;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const bool used = !uses.of[t].empty() && uses.of[t].front() <= last;
    if (used && step.tensors[t].Traits().on_host) sum += step.tensors[t].bytes;
  }
  return sum;
}

}  // namespace

Nanos Bounds::Best() const { return std::max({compute, transfer, memory}); }

const char* Bounds::Binding() const {
  if (compute == Best()) return "compute";
  return transfer == Best() ? "transfer" : "memory";
}

Bounds LowerBounds(const TrainingStep& step, const CostModel& costs, Bytes capacity, int copy_streams, int device) {
  const Link& link = costs.machine().LinkOf(device);
  BoundProblem problem;
  problem.step = &step;
  problem.out = BestRate(link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)]);
  problem.in = BestRate(link.curves[static_cast<std::size_t>(Direction::kHostToDevice)]);
  const auto all = static_cast<OpId>(step.ops.size());
  problem.upload = static_cast<Nanos>(std::floor(problem.in.Least(InputBytes(step, all))));
  problem.head = static_cast<Nanos>(std::floor(problem.in.Least(InputBytes(step, 0))));
  problem.capacity = capacity;
  problem.copy_streams = copy_streams;
  Bounds bounds;
  for (const Op& op : step.ops) {
    Launch launch = LaunchOf(op);
    launch.workspace = costs.Kernel(launch, device).workspace;
    problem.time.push_back(costs.Kernel(launch, device).time);
    problem.workspace.push_back(launch.workspace);
    bounds.compute += problem.time.back();
  }
  bounds.transfer = problem.upload;
  bounds.memory = std::max(bounds.compute, MemoryBound(problem));
  return bounds;
}

}  // namespace spillway
