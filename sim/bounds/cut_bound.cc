#include "sim/bounds/cut_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/bounds/cut_graph.h"
#include "sim/bounds/planes.h"
#include "sim/program/lower/lower.h"

namespace spillway {

namespace {

// What rounding in double precision may add, relative to the bound; and nanoseconds that an engine's may take off each kernel
// beside copies (event_lanes.h).
constexpr double kCutRounding = 1e-9, kEngineRounding = 1e-6;
// Kelley's method stops when its model is so near to what was found, or after so many cuts.
constexpr double kCloseEnough = 1e-4;
constexpr int kMostTries = 40;
constexpr std::size_t kMostPlanes = 10;

// The weights of (P) and (Q), and the price of a byte in shares of the highest one that makes sense: a point of the cube.
enum : std::size_t { kBefore, kAfter, kPrice };

// A bound, and the plane of all bounds with the same choice.
struct Tried {
  CubePoint at{};
  double bound = 0;
  Plane plane{};
};

// The first of the ops that may run in turns with `op`, and the first behind them.
OpId BeginOfTurns(const BoundProblem& problem, OpId op) {
  while (MayFollowInTurns(problem, op)) --op;
  return op;
}
OpId EndOfTurns(const BoundProblem& problem, OpId op) {
  const auto ops = static_cast<OpId>(problem.step->ops.size());
  for (++op; op < ops && MayFollowInTurns(problem, op);) ++op;
  return std::min(op, ops);
}

// The instant before one op, as a function of the weights.
class Instant {
 public:
  Instant(const BoundProblem& problem, const MemoryNeed& need, const Uses& uses, OpId op)
      : problem_(problem), need_(need), op_(op), graph_(problem, need, uses, op), first_beside_out_(op) {
    const OpId made = graph_.first_made();
    if (made != kNoOp) first_beside_out_ = problem.in_parts ? BeginOfTurns(problem, made) : made + 1;
    end_beside_in_ = problem.in_parts ? EndOfTurns(problem, graph_.last_awaited()) : graph_.last_awaited();
    end_beside_in_ = std::max(end_beside_in_, op + 1);  // where nothing is needed no copy has to come in
    without_copies_ = static_cast<double>(problem.head) + need.Compute(0, first_beside_out_) +
                      need.Compute(end_beside_in_, need.ops());
    highest_price_ = graph_.HighestPrice(need.excess[Index(op)]);
  }

  OpId op() const { return op_; }
  double highest_price() const { return highest_price_; }

  Tried At(const CubePoint& w) {
    const double price = w[kPrice] * highest_price_;
    const CutChoice choice = Choose(w, false);
    const Way own = BestWay(w[kAfter], price);
    const double room = static_cast<double>(graph_.needed_bytes()) - own.excess;
    const BesideCopies before = Beside(first_beside_out_, op_, w[kBefore]);
    const BesideCopies after = Beside(op_ + 1, end_beside_in_, w[kAfter]);
    Tried tried{.at = w};
    tried.bound = without_copies_ + before.least + own.cost.least + after.least + choice.least - price * room;
    tried.plane.slope = {before.slope - choice.out, own.cost.slope + after.slope - choice.in + choice.rerun,
                         highest_price_ * (choice.kept - room)};
    tried.plane.at_origin = tried.bound - tried.plane.At(w);
    return tried;
  }

  CutChoice Choose(const CubePoint& w, bool sets) {
    return graph_.Cheapest(
        {.out = 1 - w[kBefore], .in = 1 - w[kAfter], .rerun = w[kAfter], .kept = w[kPrice] * highest_price_}, sets);
  }

 private:
  // What ops add to the least sum where copies may run beside them, and by how much more at a larger weight.
  struct BesideCopies {
    double least = 0, slope = 0;  // nanoseconds
    void Add(double time, double beside_copies, double weight) {
      const bool beside = weight * beside_copies <= time;
      least += beside ? weight * beside_copies : time;
      slope += beside ? beside_copies : 0;
    }
  };
  BesideCopies Beside(OpId from, OpId to, double weight) const {
    BesideCopies sum;
    for (OpId op = from; op < to; ++op) {
      sum.Add(need_.Compute(op, op + 1), need_.beside_copies[Index(op)], weight);
    }
    return sum;
  }

  struct Way {
    BesideCopies cost;
    double excess = 0;
  };
  // Of the op's own ways the one that costs least at these weights, and what is too much then.
  Way BestWay(double after, double price) const {
    const std::vector<OpWay>& ways = problem_.ways[Index(op_)];
    Way best;
    for (std::size_t k = 0; k < ways.size(); ++k) {
      Way way;
      way.excess = static_cast<double>(need_.excess[Index(op_)] - ways.front().workspace + ways[k].workspace);
      way.cost.Add(static_cast<double>(ways[k].time), ways[k].beside_copies, after);
      const bool better = way.cost.least + price * way.excess < best.cost.least + price * best.excess;
      if (k == 0 || better) best = way;
    }
    return best;
  }

  const BoundProblem& problem_;
  const MemoryNeed& need_;
  const OpId op_;
  CutGraph graph_;
  OpId first_beside_out_;       // copies out run beside no op before
  OpId end_beside_in_ = kNoOp;  // copies in beside none from here on
  double without_copies_ = 0;   // nanoseconds of those, and of the upload
  double highest_price_ = 0;    // per byte
};

// Keeps the planes that are lowest at the point where they meet highest.
void DropIdle(std::vector<Plane>& planes, const CubePoint& point) {
  if (planes.size() < kMostPlanes) return;
  std::stable_sort(planes.begin(), planes.end(),
                   [&](const Plane& a, const Plane& b) { return a.At(point) < b.At(point); });
  planes.resize(kMostPlanes - 1);
}

Tried Maximise(Instant& instant, const CubePoint& start, double unit) {
  Tried best = instant.At(start);
  std::vector<Plane> planes{best.plane};
  for (int k = 1; k < kMostTries; ++k) {
    const HighestPoint next = HighestBelow(planes);
    if (next.height <= best.bound + kCloseEnough * unit) break;
    const Tried tried = instant.At(next.point);
    if (tried.bound > best.bound) best = tried;
    DropIdle(planes, next.point);
    planes.push_back(tried.plane);
  }
  return best;
}

// Ops with an excess: behind forward, the largest one, and others evenly between the first and the last.
std::vector<OpId> Candidates(const BoundProblem& problem, const MemoryNeed& need, int cuts) {
  std::vector<OpId> over, chosen;
  const auto says = [&](OpId op) { return need.excess[Index(op)] > 0 && !MayStartEarly(problem, op); };
  for (OpId op = 0; op < need.ops(); ++op) {
    if (says(op)) over.push_back(op);
  }
  const auto add = [&](OpId op) {
    const bool known = std::find(chosen.begin(), chosen.end(), op) != chosen.end();
    if (op < need.ops() && says(op) && !known) chosen.push_back(op);
  };
  add(problem.step->first_backward);
  add(need.peak);
  const std::size_t others = static_cast<std::size_t>(std::max(cuts, 3)) - 2;
  for (std::size_t k = 1; k <= others && !over.empty(); ++k) add(over[over.size() * k / (others + 1)]);
  return chosen;
}

// In so many nanoseconds: where there are parts, those of one nanosecond each.
double MostKernels(const BoundProblem& problem, double time) {
  if (problem.in_parts) return std::max(1.0, time);
  return static_cast<double>((1 + kRecomputeLimit) * static_cast<std::int64_t>(problem.step->ops.size()));
}

}  // namespace

CutBound BestCut(const BoundProblem& problem, int cuts) {
  const MemoryNeed need = NeedOf(problem);
  if (need.over_before.back() == 0 || !CanFit(problem, need)) return {};
  const Uses uses(*problem.step);
  const double unit = std::max(1.0, static_cast<double>(need.elapsed.back()));
  CutBound best;
  double most = 0;
  CubePoint start{1, 1, 0.5};
  for (const OpId op : Candidates(problem, need, cuts)) {
    Instant instant(problem, need, uses, op);
    if (best.op != kNoOp && instant.At(start).bound < most - unit) continue;
    const Tried tried = Maximise(instant, start, unit);
    if (tried.bound <= most) continue;
    most = tried.bound;
    start = tried.at;
    CutChoice choice = instant.Choose(tried.at, true);
    best.op = op;
    best.before = tried.at[kBefore];
    best.after = tried.at[kAfter];
    best.price = tried.at[kPrice] * instant.highest_price();
    best.copied = std::move(choice.copied);
    best.recomputed = std::move(choice.recomputed);
  }
  // Times are whole nanoseconds, so a step that takes at least 11.2 takes 12.
  const double rounded = kCutRounding * std::abs(most) + kEngineRounding * MostKernels(problem, most);
  best.time = std::max<Nanos>(0, static_cast<Nanos>(std::ceil(most - rounded)));
  return best;
}

}  // namespace spillway
