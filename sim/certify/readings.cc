#include "sim/certify/readings.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/cost/op_tiles.h"
#include "sim/certify/certificate.h"

namespace spillway {

namespace certifying {

namespace {

constexpr double kRoundedOff = 0.5;          // nanoseconds that rounding may take off a copy
constexpr std::int64_t kMostSamples = 2048;  // of an op whose parts are asked for, size by size

// Whether what is shorter than a piece may take as little as its bytes at the best rate, or a nanosecond more, which is what
// rounding may hide. There is one such at the end of every section of so many bytes at least.
bool ShortOnesCount(const TransferCurve& curve, double rate, Bytes piece) {
  const auto over = [&](Bytes size, Nanos time) {
    return static_cast<double>(time) - rate * static_cast<double>(size);
  };
  double least = std::min(over(0, curve.Time(0)), over(piece, curve.Time(piece)));
  for (const auto& [size, time] : curve.points) {
    if (size <= piece) least = std::min(least, over(size, time));
  }
  return least < 2 * kRoundedOff;
}

// What a byte takes in pieces of `piece` bytes or more: by the best rate of all, each piece rounded down; or by the lowest
// of what they take, rounded down, which is where the curve begins, bends or has no end.
double LeastOfPieces(const TransferCurve& curve, double rate, Bytes piece) {
  const TransferCurve::Point& last = curve.points.back();
  const TransferCurve::Point& before = curve.points[curve.points.size() - 2];
  double lowest = static_cast<double>(last.time - before.time) / static_cast<double>(last.bytes - before.bytes);
  lowest = std::min(lowest, (static_cast<double>(curve.Time(piece)) - 2 * kRoundedOff) / static_cast<double>(piece));
  for (const auto& [size, time] : curve.points) {
    if (size >= piece) lowest = std::min(lowest, (static_cast<double>(time) - kRoundedOff) / static_cast<double>(size));
  }
  const double pieces = std::min(rate, std::max(lowest, rate - kRoundedOff / static_cast<double>(piece)));
  return pieces - (ShortOnesCount(curve, rate, piece) ? kRoundedOff / static_cast<double>(piece) : 0);
}

// Each once.
std::vector<TensorId> OperandsOf(const Op& op) {
  std::vector<TensorId> operands = op.reads;
  operands.insert(operands.end(), op.writes.begin(), op.writes.end());
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  return operands;
}

std::vector<bool> Leaving(const TrainingStep& step, bool states_leave) {
  return states_leave ? BroughtIn(step) : std::vector<bool>(step.tensors.size(), false);
}

// By op: the resident bytes that are there, whatever the plan: all that does not leave, and the rest from its first use to
// its last.
std::vector<Bytes> ResidentBytes(const TrainingStep& step, const std::vector<bool>& leaves) {
  const std::size_t ops = step.ops.size();
  std::vector<std::size_t> first(step.tensors.size(), 0), last(step.tensors.size(), ops);
  for (std::size_t op = 0; op < ops; ++op) {
    for (const TensorId t : OperandsOf(step.ops[op])) {
      if (!leaves[Index(t)]) continue;
      if (last[Index(t)] == ops) first[Index(t)] = op;
      last[Index(t)] = op;
    }
  }
  std::vector<Bytes> change(ops + 2, 0);
  for (std::size_t t = 0; t < first.size(); ++t) {
    if (!step.tensors[t].Traits().resident) continue;
    change[first[t]] += step.tensors[t].bytes;
    change[last[t] + 1] -= step.tensors[t].bytes;
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.resize(ops);
  return change;
}

// With as little workspace as any way of the op takes. Operands that are resident are left out.
Bytes OperandsAndWorkspace(const TrainingStep& step, const CostModel& costs, const Op& op, int device) {
  const Scope widest = WidestScope();
  Bytes bytes = kAnyRoom;
  for (const Way& way : Ways(costs, widest, device).Of(op, kAnyRoom)) bytes = std::min(bytes, way.workspace);
  for (const TensorId t : OperandsOf(op)) {
    const Tensor& tensor = step.tensors[Index(t)];
    bytes += tensor.Traits().resident ? 0 : tensor.bytes;
  }
  return bytes;
}

}  // namespace

std::vector<bool> BroughtIn(const TrainingStep& step) {
  std::vector<bool> used(step.tensors.size(), false), read = used;
  for (const Op& op : step.ops) {
    for (const TensorId t : op.reads) read[Index(t)] = read[Index(t)] || !used[Index(t)];
    for (const TensorId t : OperandsOf(op)) used[Index(t)] = true;
  }
  for (std::size_t t = 0; t < read.size(); ++t) read[t] = read[t] && step.tensors[t].Traits().resident;
  return read;
}

std::vector<Way> Ways::Of(const Launch& launch, Bytes room) {
  std::vector<Way> ways;
  const auto way_of = [](const Cost& cost, Bytes workspace) {
    return Way{cost.time, workspace, static_cast<double>(cost.time) * cost.copy_slowdown};
  };
  // As usual: the library's choice, and its choice when it is called with as much, which may be another one.
  const Cost usual = costs_.Kernel(launch, device_);
  Launch called = launch;
  called.workspace = usual.workspace;
  const bool whole = usual.calls > 0;  // else the library refuses it
  if (whole && usual.workspace <= room) {
    ways.push_back(way_of(usual, usual.workspace));
    ways.push_back(way_of(costs_.Kernel(called, device_), usual.workspace));
  }
  // Or its choice within what is free of that, if that is less.
  for (Bytes below = whole ? usual.workspace - 1 : -1; below >= 0;) {
    called.workspace = below;
    const Cost less = costs_.Kernel(called, device_);
    if (less.workspace > below) break;
    if (less.workspace <= room) ways.push_back(way_of(less, less.workspace));
    below = less.workspace - 1;
  }
  const bool choice = !scope_.LeavesNoChoice();
  for (const MenuEntry& entry : choice ? costs_.Menu(launch, device_) : std::vector<MenuEntry>{}) {
    const bool may = entry.algorithm == 0 || scope_.algorithms == AlgorithmScope::kAny;
    if (may && entry.workspace <= std::min(scope_.workspace, room)) ways.push_back(way_of(entry.cost, entry.workspace));
  }
  const bool divided =
      scope_.parts == PartScope::kStreamed || (scope_.parts == PartScope::kBatch && HasAlgorithms(launch.kind));
  if (divided && HasSampleParts(launch)) {
    for (const Way& way : InParts(launch)) {
      if (way.workspace <= std::min(scope_.workspace, room)) ways.push_back(way);
    }
  }
  if (ways.empty()) ways.push_back(way_of(usual, usual.workspace));
  return ways;
}

// Parts of one size, the first of which may be launched as another kind than those that add to it. Of tiles, and of more
// samples than are worth asking for, what nothing beats.
const std::vector<Way>& Ways::InParts(const Launch& launch) {
  for (const auto& [known, ways] : in_parts_) {
    if (known == launch) return ways;
  }
  std::vector<Way> ways;
  const std::int64_t all = launch.shape.in.n;
  const bool tiled = Least(scope_.tiles, MostRanges(launch)).Any();
  if (tiled || all > kMostSamples) {
    const auto least = static_cast<Nanos>(costs_.LeastTime(launch, device_));
    ways.push_back({least, 0, static_cast<double>(least)});
  }
  for (std::int64_t samples = 1; samples <= all && !tiled && all <= kMostSamples; ++samples) {
    for (const bool first : {true, false}) {
      const Launch part = PartOf(launch, samples, first);
      if (!first && part == PartOf(launch, samples, true)) continue;
      for (const MenuEntry& entry : costs_.Menu(part, device_)) {
        const double time =
            static_cast<double>(entry.cost.time) * static_cast<double>(all) / static_cast<double>(samples);
        const auto whole = static_cast<Nanos>(std::floor(time));
        ways.push_back({whole, entry.workspace, static_cast<double>(whole) * entry.cost.copy_slowdown});
      }
    }
  }
  return in_parts_.emplace_back(launch, std::move(ways)).second;
}

std::vector<Bytes> TakenBytes(const TrainingStep& step, bool states_leave) {
  const std::size_t ops = step.ops.size();
  const std::vector<bool> leaves = Leaving(step, states_leave);
  Bytes always = 0;
  for (std::size_t t = 0; t < leaves.size(); ++t) {
    always += step.tensors[t].Traits().resident && !leaves[t] ? step.tensors[t].bytes : 0;
  }
  std::vector<Bytes> taken(ops, always), lying(ops, 0), change(ops + 1, 0);
  std::vector<std::size_t> last(step.tensors.size(), ops);
  for (std::size_t op = 0; op < ops; ++op) {
    for (const TensorId t : OperandsOf(step.ops[op])) {
      const Tensor& tensor = step.tensors[Index(t)];
      const bool stays = tensor.Traits().resident && !leaves[Index(t)];
      taken[op] += stays ? 0 : tensor.bytes;
      if (stays || tensor.Traits().may_move) continue;
      lying[op] -= tensor.bytes;  // counted as an operand
      if (last[Index(t)] == ops) change[op] += tensor.bytes;
      last[Index(t)] = op;
    }
  }
  for (std::size_t t = 0; t < last.size(); ++t) {
    if (last[t] < ops) change[last[t] + 1] -= step.tensors[t].bytes;
  }
  Bytes unmoved = 0;
  for (std::size_t op = 0; op < ops; ++op) {
    unmoved += change[op];
    // A forward op that runs again may find more room than the first time.
    if (!step.IsForward(static_cast<OpId>(op))) taken[op] += unmoved + lying[op];
  }
  return taken;
}

Bytes LeastTile(const TrainingStep& step, const Scope& scope) {
  Bytes least = scope.copy_chunk > 0 ? scope.copy_chunk : std::numeric_limits<Bytes>::max();
  for (const Tensor& t : step.tensors) {
    if (!t.Traits().may_move || t.Traits().of_parameters) continue;
    const std::int64_t tiles = scope.tiles.Any() ? t.shape.n * t.shape.c * t.shape.h : t.shape.n;
    least = std::min(least, t.bytes / tiles);
  }
  return std::max<Bytes>(least, 1);
}

Bytes BytesRead(const Op& op, TensorId tensor, Bytes bytes, const Scope& scope) {
  const bool tiled = scope.parts == PartScope::kStreamed && scope.tiles.rows > 1 && op.kind == OpKind::kConvolution;
  if (!tiled || op.pass == Pass::kBackwardData || op.reads[0] != tensor) return bytes;
  const std::int64_t rows = op.shape.in.h, stride = op.shape.stride[1], dilation = op.shape.dilation[1];
  const std::int64_t extent = dilation * (op.shape.window[1] - 1) + 1;
  std::int64_t met = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t out = 0; out < op.shape.out.h; ++out) {
      const std::int64_t begin = out * stride - op.shape.pad[1].begin;
      if (row < begin || row >= begin + extent || (row - begin) % dilation != 0) continue;
      ++met;
      break;
    }
  }
  return bytes / rows * met;
}

// So much a byte: at the sizes where the curve bends, on its last slope, and of one piece. Each copy may be rounded down.
double LeastCopy(const CostModel& costs, Direction direction, Bytes bytes, Bytes piece, int device) {
  const TransferCurve& curve = costs.machine().LinkOf(device).curves[static_cast<std::size_t>(direction)];
  const double all = static_cast<double>(bytes);
  double rate = std::numeric_limits<double>::max();
  for (std::size_t k = 0; k < curve.points.size(); ++k) {
    const auto& [size, time] = curve.points[k];
    if (size > 0) rate = std::min(rate, static_cast<double>(time) / static_cast<double>(size));
    if (k + 1 != curve.points.size() || k == 0) continue;
    const auto& before = curve.points[k - 1];
    rate = std::min(rate, static_cast<double>(time - before.time) / static_cast<double>(size - before.bytes));
  }
  if (rate == std::floor(rate)) return rate * all;
  if (piece > 0) rate = std::max(0.0, LeastOfPieces(curve, rate, piece));
  return std::max(0.0, rate * all - kRoundedOff);
}

}  // namespace certifying

Bytes LeastBytes(const TrainingStep& step, const CostModel& costs, OpId op, int device, bool states_leave) {
  const std::vector<Bytes> resident = certifying::ResidentBytes(step, certifying::Leaving(step, states_leave));
  return resident[Index(op)] + certifying::OperandsAndWorkspace(step, costs, step.ops[Index(op)], device);
}

NoRoomCertificate MostNeeded(const TrainingStep& step, const CostModel& costs, Bytes capacity, int device,
                             bool states_leave) {
  NoRoomCertificate most{.capacity = capacity, .states_leave = states_leave};
  const std::vector<Bytes> resident = certifying::ResidentBytes(step, certifying::Leaving(step, states_leave));
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    const Bytes needed =
        resident[Index(op)] + certifying::OperandsAndWorkspace(step, costs, step.ops[Index(op)], device);
    if (most.op != kNoOp && needed <= most.needed) continue;
    most.op = op;
    most.needed = needed;
  }
  return most;
}

bool Holds(const TrainingStep& step, const CostModel& costs, const NoRoomCertificate& certificate, int device) {
  if (certificate.op < 0 || Index(certificate.op) >= step.ops.size()) return false;
  return certificate.needed > certificate.capacity &&
         LeastBytes(step, costs, certificate.op, device, certificate.states_leave) >= certificate.needed;
}

}  // namespace spillway
