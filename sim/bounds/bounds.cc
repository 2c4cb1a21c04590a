#include "sim/bounds/bounds.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "model/cost/menu.h"
#include "model/cost/op_tiles.h"
#include "sim/bounds/cut_bound.h"
#include "sim/bounds/memory_bound.h"
#include "sim/bounds/memory_gaps.h"

namespace spillway {

namespace {

constexpr int kCuts = 6;  // instants looked at

// The curve is linear between its points and goes on at its last slope, so its best rate is that of a point or the
// last slope. CostModel rounds a copy's time to whole nanoseconds; a slope that is a whole number leaves nothing to
// round below it. Copies that come in pieces of `piece` bytes (0: in one) or more are rounded once for each, and the last:
// so much off the best rate at most, and off none where all pieces take longer than by it. The last, and tensors that are
// smaller than a piece, may have the best rate. A tensor of which parts come by themselves has a last piece for each, which
// is rounded, too, unless all that are so short take longer anyway.
constexpr double kRounded = 0.5;

bool ShortPiecesTakeLonger(const TransferCurve& curve, double rate, Bytes piece) {
  const auto longer = [rate](Nanos time, Bytes bytes) {
    return static_cast<double>(time) - rate * static_cast<double>(bytes) >= 2 * kRounded;
  };
  bool all = longer(curve.Time(0), 0) && longer(curve.Time(piece), piece);  // linear between these and the points
  for (const TransferCurve::Point& point : curve.points)
    all = all && (point.bytes > piece || longer(point.time, point.bytes));
  return all;
}

CopyRate BestRate(const TransferCurve& curve, Bytes piece) {
  const auto slope = [](double time, Bytes bytes) { return time / static_cast<double>(bytes); };
  const TransferCurve::Point& last = curve.points.back();
  const TransferCurve::Point& previous = curve.points[curve.points.size() - 2];
  const double at_last = slope(static_cast<double>(last.time - previous.time), last.bytes - previous.bytes);
  double best = at_last;
  for (const TransferCurve::Point& point : curve.points) {
    if (point.bytes > 0) best = std::min(best, slope(static_cast<double>(point.time), point.bytes));
  }
  if (best == std::floor(best)) return {best, 0};
  if (piece == 0) return {best, kRounded};
  // (time - kRounded) / bytes has no minimum between points; what Time() says of a piece is rounded, too.
  double rounded = std::min(at_last, slope(static_cast<double>(curve.Time(piece)) - 2 * kRounded, piece));
  for (const TransferCurve::Point& point : curve.points) {
    if (point.bytes >= piece)
      rounded = std::min(rounded, slope(static_cast<double>(point.time) - kRounded, point.bytes));
  }
  const double of_pieces = std::max({0.0, best - slope(kRounded, piece), rounded});
  const double of_short = ShortPiecesTakeLonger(curve, best, piece) ? 0 : slope(kRounded, piece);
  return {std::max(0.0, std::min(best, of_pieces) - of_short), kRounded};
}

// The smallest pieces of a tensor that may be streamed: one sample, of tiles one row of one channel.
Bytes LeastTile(const Tensor& tensor, const Scope& scope) {
  const Shape& s = tensor.shape;
  return std::max<Bytes>(1, scope.tiles.Any() ? tensor.bytes / (s.n * s.c * s.h) : tensor.bytes / s.n);
}

Bytes LeastPiece(const Scope& scope) {
  return scope.copy_chunk > 0 ? scope.copy_chunk : std::numeric_limits<Bytes>::max();
}

Bytes LeastTileOfInputs(const StepTables& tables, const Scope& scope) {
  Bytes least = LeastPiece(scope);
  for (const TensorId t : tables.inputs) least = std::min(least, LeastTile(tables.step->tensors[Index(t)], scope));
  return least;
}

Bytes LeastTileOfAll(const TrainingStep& step, const Scope& scope) {
  Bytes least = LeastPiece(scope);
  for (const Tensor& tensor : step.tensors) {
    if (MayStream(tensor)) least = std::min(least, LeastTile(tensor, scope));
  }
  return least;
}

// Least time to bring the inputs whose first use is an op up to `last`: each is copied by itself. `in_rows`: some may come
// in tiles that leave out rows which nobody reads.
Nanos UploadTime(const StepTables& tables, OpId last, const CopyRate& rate, bool in_rows) {
  double sum = 0;
  for (const TensorId t : tables.inputs) {
    const std::vector<OpId>& uses = tables.uses.of[Index(t)];
    if (uses.empty() || uses.front() > last) continue;
    const Tensor& input = tables.step->tensors[Index(t)];
    const Op& first = tables.step->ops[Index(uses.front())];
    sum += rate.Least(in_rows ? input.bytes / input.shape.h * RowsRead(first.shape, first.kind) : input.bytes);
  }
  return static_cast<Nanos>(std::floor(sum));
}

// By op: the bytes that no plan can take away from it, its operands and what never moves; without those that it may
// stream, where it may, and of a forward op, which may run again by another algorithm, without what is gone by then. Sizes
// as they are: rounding them would make a bound that a finer allocator beats.
std::vector<Bytes> FixedBytes(const StepTables& tables, const Scope& scope) {
  const TrainingStep& step = *tables.step;
  std::vector<Bytes> change(step.ops.size() + 1, 0);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const std::vector<OpId>& uses = tables.uses.of[t];
    const Bytes bytes = step.tensors[t].bytes;
    const bool leaves = scope.states_leave && MayRestOnHost(step, static_cast<TensorId>(t));
    if (tables.persistent[t] && !leaves) {
      change.front() += bytes;
    } else if (!step.tensors[t].Traits().may_move && !uses.empty()) {
      for (OpId op = uses.front(); op <= uses.back(); ++op) {
        if (step.IsForward(op) && !std::binary_search(uses.begin(), uses.end(), op)) continue;
        change[Index(op)] += bytes;
        change[Index(op) + 1] -= bytes;
      }
    } else {
      const bool may = scope.parts == PartScope::kStreamed && MayStream(step.tensors[t]);
      for (const OpId op : uses) {
        if (may && HasSampleParts(step.ops[Index(op)])) continue;
        change[Index(op)] += bytes;
        change[Index(op) + 1] -= bytes;
      }
    }
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  return change;
}

OpWay WayOf(const MenuEntry& entry) {
  return {entry.cost.time, entry.workspace, static_cast<double>(entry.cost.time) * entry.cost.copy_slowdown};
}

// The ways of a menu that are within the scope and `room`, the fastest first, without those that another one beats in
// both time and workspace. Where none fits, no plan exists: then the usual one.
std::vector<OpWay> WaysWithin(const std::vector<MenuEntry>& menu, const std::vector<MenuEntry>& divided,
                              const std::vector<MenuEntry>& usual, bool may_be_usual, const Scope& scope, Bytes room) {
  std::vector<MenuEntry> within = may_be_usual ? usual : std::vector<MenuEntry>{};
  for (const MenuEntry& entry : menu) {
    const bool stated = entry.algorithm == 0 || scope.algorithms == AlgorithmScope::kAny;
    if (stated && entry.workspace <= scope.workspace) within.push_back(entry);
  }
  for (const MenuEntry& entry : divided) {
    if (entry.workspace <= scope.workspace) within.push_back(entry);
  }
  std::erase_if(within, [room](const MenuEntry& entry) { return entry.workspace > room; });
  if (within.empty()) within.push_back(usual.front());
  std::vector<OpWay> ways;
  for (const MenuEntry& entry : ParetoSet(within)) ways.push_back(WayOf(entry));
  for (OpWay& way : ways) {
    for (const MenuEntry& entry : within) {
      if (entry.cost.time < way.time || entry.workspace < way.workspace) continue;
      way.beside_copies = std::min(way.beside_copies, WayOf(entry).beside_copies);
    }
  }
  return ways;
}

// What no parts of a launch beat: in time for all its samples, at the rates' workspaces.
std::vector<MenuEntry> DividedWays(const Launch& launch, const std::vector<PartRate>& rates) {
  std::vector<MenuEntry> ways;
  for (const PartRate& rate : rates) {
    MenuEntry way{0, rate.workspace, {}};
    way.cost.time = static_cast<Nanos>(std::floor(rate.nanos_per_sample * static_cast<double>(launch.shape.in.n)));
    if (rate.nanos_per_sample > 0) way.cost.copy_slowdown = rate.beside_copies / rate.nanos_per_sample;
    ways.push_back(way);
  }
  return ways;
}

// The library's choice within the usual grant, and within all that may be left of it: a grant is an upper limit, and is
// cut to what is free (sim/program/lower/grants.h).
std::vector<MenuEntry> UsualWays(Launch launch, const CostModel& costs, int device) {
  launch.algorithm = 0;
  launch.workspace = costs.Kernel(Unchosen(launch), device).workspace;
  std::vector<MenuEntry> ways{{0, launch.workspace, costs.Kernel(launch, device)}};
  while (launch.workspace > 0) {
    --launch.workspace;
    const Cost cost = costs.Kernel(launch, device);
    if (cost.workspace > launch.workspace) break;  // nothing runs in so little
    ways.push_back({0, cost.workspace, cost});
    launch.workspace = cost.workspace;
  }
  return ways;
}

// The ways of ops by the rows of their launches.
class WaysByRow {
 public:
  WaysByRow(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus, const LaunchPartRates& rates,
            Bytes capacity, const Scope& scope)
      : tables_(tables),
        menus_(menus),
        rates_(rates),
        capacity_(capacity),
        scope_(scope),
        fixed_(FixedBytes(tables, scope)) {
    assert(scope.LeavesNoChoice() || menus.size() == tables.launches.size());
    assert(scope.parts == PartScope::kNone || rates.size() == tables.launches.size());
    for (const Launch& launch : tables.launches) usual_.push_back(UsualWays(launch, costs, tables.device));
  }

  std::vector<OpWay> Of(std::size_t op, std::uint32_t row) const {
    static const std::vector<MenuEntry> kNone;
    const bool divided = scope_.parts != PartScope::kNone;
    const std::vector<MenuEntry> parts = divided ? DividedWays(tables_.launches[row], rates_[row]) : kNone;
    // What the library refuses whole runs in parts. Without parts no plan exists, and any bound holds.
    const bool refused = std::binary_search(tables_.refused.begin(), tables_.refused.end(), static_cast<OpId>(op));
    return WaysWithin(scope_.LeavesNoChoice() ? kNone : menus_[row], parts, usual_[row], !refused || parts.empty(),
                      scope_, capacity_ - fixed_[op]);
  }

 private:
  const StepTables& tables_;
  const LaunchMenus& menus_;
  const LaunchPartRates& rates_;
  const Bytes capacity_;
  const Scope& scope_;
  const std::vector<Bytes> fixed_;             // by op
  std::vector<std::vector<MenuEntry>> usual_;  // by row
};

void AddWays(const WaysByRow& by_row, const StepTables& tables, BoundProblem& problem) {
  for (std::size_t op = 0; op < tables.launch.size(); ++op) {
    problem.ways.push_back(by_row.Of(op, tables.launch[op]));
    if (tables.launch_again[op] == tables.launch[op]) continue;
    problem.again[static_cast<OpId>(op)] = by_row.Of(op, tables.launch_again[op]);
  }
}

}  // namespace

Nanos Bounds::Best() const { return std::max({compute, transfer, memory, instant}); }

const char* Bounds::Binding() const {
  if (compute == Best()) return "compute";
  if (transfer == Best()) return "transfer";
  return memory == Best() ? "memory" : kInstantBinds;
}

LaunchMenus MenusOf(const StepTables& tables, const CostModel& costs) {
  LaunchMenus menus;
  for (const Launch& launch : tables.launches) menus.push_back(costs.Menu(launch, tables.device));
  return menus;
}

BoundProblem BoundProblemOf(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                            const LaunchPartRates& rates, Bytes capacity, const Scope& scope) {
  const Link& link = costs.machine().links[tables.link];
  BoundProblem problem;
  problem.step = tables.step;
  AddWays(WaysByRow(tables, costs, menus, rates, capacity, scope), tables, problem);
  const bool streamed = scope.parts == PartScope::kStreamed;
  const auto rate = [&link](Direction direction, Bytes piece) {
    return BestRate(link.curves[static_cast<std::size_t>(direction)], piece);
  };
  const Bytes piece = streamed ? LeastTileOfAll(*tables.step, scope) : scope.copy_chunk;
  problem.out = rate(Direction::kDeviceToHost, piece);
  problem.in = rate(Direction::kHostToDevice, piece);
  const CopyRate of_inputs = streamed ? rate(Direction::kHostToDevice, LeastTileOfInputs(tables, scope)) : problem.in;
  problem.streamed = streamed;
  problem.in_rows = streamed && scope.tiles.rows > 1;
  const auto all = static_cast<OpId>(tables.step->ops.size());
  problem.upload = UploadTime(tables, all, of_inputs, problem.in_rows);
  problem.capacity = capacity;
  problem.copy_streams = scope.copy_streams;
  problem.in_parts = scope.parts != PartScope::kNone;
  problem.states_leave = scope.states_leave;
  problem.in_sections = scope.parts == PartScope::kBatch && scope.copy_chunk > 0;
  problem.head = streamed || MayStartEarly(problem, 0) ? 0 : UploadTime(tables, 0, problem.in, false);
  return problem;
}

Bounds LowerBounds(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                   const LaunchPartRates& rates, Bytes capacity, const Scope& scope) {
  if (scope.managed) capacity = std::numeric_limits<Bytes>::max() / 2;
  const BoundProblem problem = BoundProblemOf(tables, costs, menus, rates, capacity, scope);
  Bounds bounds{.compute = problem.head};
  for (const std::vector<OpWay>& ways : problem.ways) bounds.compute += ways.front().time;
  bounds.transfer = problem.upload;
  const bool streamed = scope.parts == PartScope::kStreamed;
  // Without copies the instant says all that the linear program would.
  const bool no_program = streamed || scope.copy_streams == 0;
  bounds.memory = no_program ? bounds.compute : std::max(bounds.compute, MemoryBound(problem));
  bounds.instant = BestCut(problem, kCuts).time;
  return bounds;
}

Bounds LowerBounds(const TrainingStep& step, const CostModel& costs, Bytes capacity, const Scope& scope, int device) {
  const StepTables tables(step, costs, device);
  const bool divided = scope.parts != PartScope::kNone;
  return LowerBounds(tables, costs, scope.LeavesNoChoice() ? LaunchMenus{} : MenusOf(tables, costs),
                     divided ? PartRatesOf(tables, costs, scope.parts, scope.tiles) : LaunchPartRates{}, capacity,
                     scope);
}

}  // namespace spillway
