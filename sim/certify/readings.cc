#include "sim/certify/readings.h"

#include <algorithm>
#include <cmath>

#include "hw/text/lists.h"
#include "sim/certify/certificate.h"

namespace spillway {

namespace certifying {

namespace {

constexpr double kRoundedOff = 0.5;  // nanoseconds that rounding may take off a copy

}  // namespace

std::vector<Way> WaysInScope(const Op& op, const CostModel& costs, const Scope& scope, Bytes room, int device) {
  const Cost usual = costs.Kernel(LaunchOf(op), device);
  std::vector<Way> ways;
  if (scope.algorithms == AlgorithmScope::kUsual || usual.workspace <= room) {
    ways.push_back({usual.time, usual.workspace});
  }
  if (scope.algorithms == AlgorithmScope::kUsual) return ways;
  for (const MenuEntry& entry : costs.Menu(LaunchOf(op), device)) {
    const bool may = entry.algorithm == 0 || scope.algorithms == AlgorithmScope::kAny;
    if (may && entry.workspace <= std::min(scope.workspace, room)) ways.push_back({entry.cost.time, entry.workspace});
  }
  if (ways.empty()) ways.push_back({usual.time, usual.workspace});
  return ways;
}

std::vector<Bytes> TakenBytes(const TrainingStep& step) {
  std::vector<Bytes> taken(step.ops.size(), 0);
  for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) {
    const Tensor& tensor = step.tensors[Index(t)];
    std::size_t first = step.ops.size(), last = 0;
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      if (!Contains(step.ops[op].reads, t) && !Contains(step.ops[op].writes, t)) continue;
      first = std::min(first, op);
      last = op;
      if (tensor.Traits().may_move) taken[op] += tensor.bytes;
    }
    if (tensor.Traits().resident) first = 0, last = step.ops.size() - 1;
    if (tensor.Traits().may_move && !tensor.Traits().resident) continue;
    for (std::size_t op = first; op <= last && op < step.ops.size(); ++op) taken[op] += tensor.bytes;
  }
  return taken;
}

double LeastCopy(const CostModel& costs, Direction direction, Bytes bytes, Bytes piece, int device) {
  const TransferCurve& curve = costs.machine().LinkOf(device).curves[static_cast<std::size_t>(direction)];
  double rate = std::numeric_limits<double>::max();
  for (std::size_t k = 0; k < curve.points.size(); ++k) {
    const auto& [size, time] = curve.points[k];
    if (size > 0) rate = std::min(rate, static_cast<double>(time) / static_cast<double>(size));
    if (k + 1 != curve.points.size() || k == 0) continue;
    const auto& before = curve.points[k - 1];
    rate = std::min(rate, static_cast<double>(time - before.time) / static_cast<double>(size - before.bytes));
  }
  if (rate == std::floor(rate)) return rate * static_cast<double>(bytes);
  if (piece > 0) rate = std::max(0.0, rate - kRoundedOff / static_cast<double>(piece));
  return std::max(0.0, rate * static_cast<double>(bytes) - kRoundedOff);
}

}  // namespace certifying

Bytes LeastBytes(const TrainingStep& step, const CostModel& costs, OpId op, int device) {
  const Op& o = step.ops[Index(op)];
  Bytes sum = std::numeric_limits<Bytes>::max();
  for (const certifying::Way& way : certifying::WaysInScope(o, costs, WidestScope(), certifying::kAnyRoom, device))
    sum = std::min(sum, way.workspace);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const auto id = static_cast<TensorId>(t);
    const bool there = step.tensors[t].Traits().resident || Contains(o.reads, id) || Contains(o.writes, id);
    sum += there ? step.tensors[t].bytes : 0;
  }
  return sum;
}

NoRoomCertificate MostNeeded(const TrainingStep& step, const CostModel& costs, Bytes capacity, int device) {
  NoRoomCertificate most{.capacity = capacity};
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    const Bytes needed = LeastBytes(step, costs, op, device);
    if (most.op != kNoOp && needed <= most.needed) continue;
    most.op = op;
    most.needed = needed;
  }
  return most;
}

bool Holds(const TrainingStep& step, const CostModel& costs, const NoRoomCertificate& certificate, int device) {
  if (certificate.op < 0 || Index(certificate.op) >= step.ops.size()) return false;
  return certificate.needed > certificate.capacity &&
         LeastBytes(step, costs, certificate.op, device) >= certificate.needed;
}

}  // namespace spillway
