#include "calibrate/fit/curve.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace spillway {
namespace {

// Weight of sizes below `judged_from`, against 1.
constexpr double kSmallWeight = 0.1;
// A deviation of this size halves the weight: smaller ones are not what limits a curve.
constexpr double kUsualDeviation = 0.02;
// Relative error below which a fit counts as exact.
constexpr double kExact = 0.002;
// Least time per byte beyond the last point, in mean times per byte up to it.
constexpr double kLeastSlope = 0.5;
// Nanoseconds of the smallest copy, where an extrapolation says less.
constexpr double kLeastLatency = 1e3;

struct Row {
  double bytes, nanos, weight;
};

struct Knots {
  std::vector<double> bytes, nanos;
  double cost = std::numeric_limits<double>::infinity();  // weighted sum of squared relative errors
};

std::vector<Row> RowsOf(std::span<const TimedCopy> copies, const CurveFitOptions& options) {
  std::vector<Row> rows;
  for (const TimedCopy& copy : copies) {
    assert(copy.bytes > 0 && copy.nanos > 0);
    const double scatter = copy.deviation / kUsualDeviation;
    const double weight = (copy.bytes < options.judged_from ? kSmallWeight : 1.0) / (1.0 + scatter * scatter);
    rows.push_back({static_cast<double>(copy.bytes), copy.nanos, weight});
  }
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : a.nanos < b.nanos; });
  return rows;
}

std::vector<double> SizesOf(const std::vector<Row>& rows) {
  std::vector<double> sizes;
  for (const Row& row : rows) {
    if (sizes.empty() || row.bytes > sizes.back()) sizes.push_back(row.bytes);
  }
  return sizes;
}

// Index of the interval that holds `bytes` and how far into it, 0 .. 1. Rows lie within the knots.
struct Place {
  std::size_t interval;
  double into;
};
Place PlaceOf(const std::vector<double>& knots, double bytes, std::size_t from) {
  while (from + 2 < knots.size() && bytes > knots[from + 1]) ++from;
  return {from, (bytes - knots[from]) / (knots[from + 1] - knots[from])};
}

// Solves the tridiagonal system of the normal equations; `diagonal` and `right` are used up.
std::vector<double> SolveTridiagonal(std::vector<double> diagonal, const std::vector<double>& beside,
                                     std::vector<double> right) {
  const std::size_t size = diagonal.size();
  for (std::size_t i = 1; i < size; ++i) {
    const double factor = beside[i - 1] / diagonal[i - 1];
    diagonal[i] -= factor * beside[i - 1];
    right[i] -= factor * right[i - 1];
  }
  right[size - 1] /= diagonal[size - 1];
  for (std::size_t i = size - 1; i-- > 0;) right[i] = (right[i] - beside[i] * right[i + 1]) / diagonal[i];
  return right;
}

double CostOf(const Knots& knots, const std::vector<Row>& rows) {
  double cost = 0;
  std::size_t interval = 0;
  for (const Row& row : rows) {
    const Place place = PlaceOf(knots.bytes, row.bytes, interval);
    interval = place.interval;
    const double time = knots.nanos[interval] * (1 - place.into) + knots.nanos[interval + 1] * place.into;
    cost += row.weight * (time / row.nanos - 1) * (time / row.nanos - 1);
  }
  return cost;
}

// Times at knots of given sizes. Every knot is the size of a row, so the system has a solution.
Knots TimesAt(std::vector<double> sizes, const std::vector<Row>& rows) {
  std::vector<double> diagonal(sizes.size()), beside(sizes.size() - 1), right(sizes.size());
  std::size_t interval = 0;
  for (const Row& row : rows) {
    const Place place = PlaceOf(sizes, row.bytes, interval);
    interval = place.interval;
    const double after = place.into / row.nanos, before = (1 - place.into) / row.nanos;
    diagonal[interval] += row.weight * before * before;
    diagonal[interval + 1] += row.weight * after * after;
    beside[interval] += row.weight * before * after;
    right[interval] += row.weight * before;
    right[interval + 1] += row.weight * after;
  }
  Knots knots{.bytes = std::move(sizes), .nanos = SolveTridiagonal(std::move(diagonal), beside, std::move(right))};
  knots.cost = CostOf(knots, rows);
  return knots;
}

std::vector<double> With(std::vector<double> sizes, double added) {
  sizes.insert(std::upper_bound(sizes.begin(), sizes.end(), added), added);
  return sizes;
}

// The best of all single additions to `sizes`; none left: a copy of infinite cost.
Knots BestAddition(const std::vector<double>& sizes, const std::vector<double>& candidates,
                   const std::vector<Row>& rows) {
  Knots best;
  for (const double candidate : candidates) {
    if (std::binary_search(sizes.begin(), sizes.end(), candidate)) continue;
    Knots tried = TimesAt(With(sizes, candidate), rows);
    if (tried.cost < best.cost) best = std::move(tried);
  }
  return best;
}

// Moves inner knots one at a time while that lowers the cost by more than rounding.
Knots Moved(Knots knots, const std::vector<double>& candidates, const std::vector<Row>& rows) {
  for (std::size_t i = 1, stayed = 0; knots.bytes.size() > 2 && stayed + 2 < knots.bytes.size();) {
    std::vector<double> others = knots.bytes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    Knots moved = BestAddition(others, candidates, rows);
    const bool better = moved.cost < knots.cost * (1 - 1e-9);
    stayed = better ? 0 : stayed + 1;
    if (better) knots = std::move(moved);
    i = i + 2 < knots.bytes.size() ? i + 1 : 1;
  }
  return knots;
}

// Schwarz's criterion; each knot is two numbers, a size and a time.
double Price(const Knots& knots, double weight) {
  const double variance = knots.cost / weight + kExact * kExact;
  return weight * std::log(variance) + 2 * static_cast<double>(knots.bytes.size()) * std::log(weight + 1);
}

// The first and the last size, then as many more as pay.
Knots ChooseKnots(const std::vector<Row>& rows, int max_points) {
  const std::vector<double> candidates = SizesOf(rows);
  double weight = 0;
  for (const Row& row : rows) weight += row.weight;
  Knots knots = TimesAt({candidates.front(), candidates.back()}, rows);
  Knots best = knots;
  while (knots.bytes.size() < std::min(candidates.size(), static_cast<std::size_t>(max_points))) {
    knots = Moved(BestAddition(knots.bytes, candidates, rows), candidates, rows);
    if (Price(knots, weight) < Price(best, weight)) best = knots;
  }
  return best;
}

// A first point for small copies: a copy takes no less than the first point's time otherwise.
void AddLatency(std::vector<TransferCurve::Point>& points, const CurveFitOptions& options) {
  const TransferCurve::Point first = points[0], second = points[1];
  if (first.bytes <= options.judged_from) return;
  const Bytes small = std::min<Bytes>(4 * kKiB, first.bytes / 2);
  const double rate = static_cast<double>(second.time - first.time) / static_cast<double>(second.bytes - first.bytes);
  const double extrapolated = static_cast<double>(first.time) - rate * static_cast<double>(first.bytes - small);
  const double least = std::min(kLeastLatency, static_cast<double>(first.time) / 2);
  points.insert(points.begin(), {small, std::llround(std::max(extrapolated, least))});
}

// Nearest times that do not decrease: runs that do are replaced by their mean (pool adjacent violators).
void MakeMonotone(std::vector<double>& times) {
  struct Run {
    double sum;
    std::size_t count;
    double Mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Run> runs;
  for (const double time : times) {
    runs.push_back({time, 1});
    while (runs.size() > 1 && runs[runs.size() - 2].Mean() > runs.back().Mean()) {
      const Run last = runs.back();
      runs.pop_back();
      runs.back() = {runs.back().sum + last.sum, runs.back().count + last.count};
    }
  }
  std::size_t i = 0;
  for (const Run& run : runs) {
    for (std::size_t k = 0; k < run.count; ++k) times[i++] = run.Mean();
  }
}

}  // namespace

std::vector<TransferCurve::Point> FitCurve(std::span<const TimedCopy> copies, const CurveFitOptions& options) {
  assert(options.max_points >= 2);
  const std::vector<Row> rows = RowsOf(copies, options);
  assert(rows.size() >= 2 && rows.front().bytes < rows.back().bytes);
  Knots knots = ChooseKnots(rows, options.max_points);
  MakeMonotone(knots.nanos);
  const std::size_t last = knots.bytes.size() - 1;
  const double least =
      knots.nanos[last] / knots.bytes[last] * kLeastSlope * (knots.bytes[last] - knots.bytes[last - 1]);
  knots.nanos[last] = std::max(knots.nanos[last], knots.nanos[last - 1] + least);
  std::vector<TransferCurve::Point> points;
  for (std::size_t i = 0; i <= last; ++i) {
    points.push_back({std::llround(knots.bytes[i]), std::max<Nanos>(1, std::llround(knots.nanos[i]))});
  }
  AddLatency(points, options);
  return points;
}

std::vector<LeftOutCopy> PredictLeftOut(std::span<const TimedCopy> copies, const CurveFitOptions& options) {
  const std::vector<double> sizes = SizesOf(RowsOf(copies, options));
  std::vector<LeftOutCopy> left_out;
  if (sizes.size() < 4) return left_out;
  for (const double size : sizes) {
    const Bytes bytes = std::llround(size);
    if (bytes < options.judged_from) continue;
    std::vector<TimedCopy> others;
    for (const TimedCopy& copy : copies) {
      if (copy.bytes != bytes) others.push_back(copy);
    }
    TransferCurve curve;
    curve.points = FitCurve(others, options);
    for (const TimedCopy& copy : copies) {
      if (copy.bytes == bytes) left_out.push_back({bytes, copy.nanos, static_cast<double>(curve.Time(bytes))});
    }
  }
  return left_out;
}

}  // namespace spillway
