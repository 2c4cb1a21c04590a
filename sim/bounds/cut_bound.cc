#include "sim/bounds/cut_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/bounds/cut_graph.h"
#include "sim/bounds/planes.h"

namespace spillway {

namespace {

// What rounding in double precision may add, relative to the bound.
constexpr double kCutRounding = 1e-9;
// Kelley's method stops when its model is so near to what was found, or after so many cuts.
constexpr double kCloseEnough = 1e-4;
constexpr int kMostTries = 40;
constexpr std::size_t kMostPlanes = 10;

// Weights of (P1) and (Q1), and the price of a byte in shares of the highest one that makes sense: a point of the cube.
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
      : problem_(problem), need_(need), op_(op), graph_(problem, need, uses, op) {
    const auto head = static_cast<double>(problem.head);
    const OpId made = graph_.first_made();
    const OpId awaited = problem.in_parts ? EndOfTurns(problem, graph_.last_awaited()) : graph_.last_awaited();
    compute_before_ = head + need.Compute(0, op);
    compute_after_ = need.Compute(op, need.ops());
    if (made != kNoOp) {
      first_result_ = head + need.Compute(0, problem.in_parts ? BeginOfTurns(problem, made) : made + 1);
    }
    rest_ = need.Compute(awaited, need.ops());
    highest_price_ = graph_.HighestPrice(need.excess[Index(op)]);
  }

  OpId op() const { return op_; }
  double highest_price() const { return highest_price_; }

  Tried At(const CubePoint& w) {
    const double price = w[kPrice] * highest_price_;
    const CutChoice choice = Choose(w, false);
    const auto [longer, excess] = BestWay(w[kAfter], price);
    const double room = static_cast<double>(graph_.needed_bytes()) - excess;
    Tried tried{.at = w};
    tried.bound = w[kBefore] * compute_before_ + (1 - w[kBefore]) * first_result_ +
                  w[kAfter] * (compute_after_ + longer) + (1 - w[kAfter]) * rest_ + choice.least - price * room;
    tried.plane.slope = {compute_before_ - first_result_ - choice.out,
                         compute_after_ + longer - rest_ - choice.in + choice.rerun,
                         highest_price_ * (choice.kept - room)};
    tried.plane.at_origin = tried.bound - tried.plane.At(w);
    return tried;
  }

  CutChoice Choose(const CubePoint& w, bool sets) {
    return graph_.Cheapest(
        {.out = 1 - w[kBefore], .in = 1 - w[kAfter], .rerun = w[kAfter], .kept = w[kPrice] * highest_price_}, sets);
  }

 private:
  struct Run {
    double longer = 0, excess = 0;
  };
  // Of the op's own ways the one that costs least at these weights: how much longer than the fastest one it takes, and what
  // is too much then.
  Run BestWay(double after, double price) const {
    const std::vector<OpWay>& ways = problem_.ways[Index(op_)];
    Run best;
    for (std::size_t k = 0; k < ways.size(); ++k) {
      const Run run{static_cast<double>(ways[k].time - ways.front().time),
                    static_cast<double>(need_.excess[Index(op_)] - ways.front().workspace + ways[k].workspace)};
      if (k == 0 || after * run.longer + price * run.excess < after * best.longer + price * best.excess) best = run;
    }
    return best;
  }

  const BoundProblem& problem_;
  const MemoryNeed& need_;
  const OpId op_;
  CutGraph graph_;
  double compute_before_ = 0, compute_after_ = 0, first_result_ = 0, rest_ = 0;  // nanoseconds
  double highest_price_ = 0;                                                     // per byte
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
  for (OpId op = 0; op < need.ops(); ++op) {
    if (need.excess[Index(op)] > 0) over.push_back(op);
  }
  const auto add = [&](OpId op) {
    const bool known = std::find(chosen.begin(), chosen.end(), op) != chosen.end();
    if (op < need.ops() && need.excess[Index(op)] > 0 && !known) chosen.push_back(op);
  };
  add(problem.step->first_backward);
  add(need.peak);
  const std::size_t others = static_cast<std::size_t>(std::max(cuts, 3)) - 2;
  for (std::size_t k = 1; k <= others && !over.empty(); ++k) add(over[over.size() * k / (others + 1)]);
  return chosen;
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
  best.time = std::max<Nanos>(0, static_cast<Nanos>(std::ceil(most - kCutRounding * std::abs(most))));
  return best;
}

}  // namespace spillway
