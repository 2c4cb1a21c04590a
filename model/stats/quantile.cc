#include "model/stats/quantile.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace spillway {
namespace {

constexpr int kBisections = 60;

struct Line {
  double at_zero = 0, slope = 0;
  double At(double x) const { return at_zero + slope * x; }
};

// Indices of the half of the pairs whose x is closest to `middle`.
std::vector<std::size_t> NearestHalf(const std::vector<double>& x, std::size_t pairs, double middle) {
  std::vector<std::size_t> order(pairs);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(x[a] - middle) < std::abs(x[b] - middle); });
  order.resize((pairs + 1) / 2);
  return order;
}

// Least squares; a slope of 0 where all x are equal.
Line FitLine(const std::vector<double>& x, const std::vector<double>& y, const std::vector<std::size_t>& pairs) {
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (const std::size_t i : pairs) {
    mean_x += x[i] / static_cast<double>(pairs.size());
    mean_y += y[i] / static_cast<double>(pairs.size());
  }
  for (const std::size_t i : pairs) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  Line line;
  line.slope = xx > 0 ? xy / xx : 0;
  line.at_zero = mean_y - line.slope * mean_x;
  return line;
}

// Share of line(x) + residual below t, over all x and residuals.
double ShareBelow(double t, const std::vector<double>& sorted_x, const Line& line,
                  const std::vector<double>& residuals) {
  double below = 0;
  for (const double residual : residuals) {
    const double x = (t - residual - line.at_zero) / line.slope;
    below += static_cast<double>(std::lower_bound(sorted_x.begin(), sorted_x.end(), x) - sorted_x.begin());
  }
  return below / (static_cast<double>(sorted_x.size()) * static_cast<double>(residuals.size()));
}

}  // namespace

double SortedQuantile(const std::vector<double>& sorted, double share) {
  assert(!sorted.empty() && share >= 0 && share <= 1);
  const double at = share * static_cast<double>(sorted.size() - 1);
  const std::size_t low = static_cast<std::size_t>(at), high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return SortedQuantile(values, share);
}

double NearestRank(std::vector<double> values, double share) {
  assert(!values.empty() && share >= 0 && share <= 1);
  const auto rank = static_cast<std::ptrdiff_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<std::size_t>(rank)];
}

double Median(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double WeightedQuantile(std::vector<std::pair<double, double>> values, double quantile) {
  std::sort(values.begin(), values.end());
  double total = 0, below = 0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= quantile * total) return value;
  }
  return values.empty() ? 0 : values.back().first;
}

double QuantileByProxy(const std::vector<double>& y, const std::vector<double>& x, double p) {
  assert(y.size() >= 8 && y.size() <= x.size());
  const std::vector<std::size_t> pairs = NearestHalf(x, y.size(), NearestRank(x, p));
  const Line line = FitLine(x, y, pairs);
  if (line.slope <= 0) return NearestRank(y, p);
  std::vector<double> sorted_x = x, residuals;
  std::sort(sorted_x.begin(), sorted_x.end());
  for (const std::size_t i : pairs) residuals.push_back(y[i] - line.At(x[i]));
  const auto [least, most] = std::minmax_element(residuals.begin(), residuals.end());
  double low = line.At(sorted_x.front()) + *least, high = line.At(sorted_x.back()) + *most;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::midpoint(low, high);
    (ShareBelow(middle, sorted_x, line, residuals) < p ? low : high) = middle;
  }
  return std::midpoint(low, high);
}

}  // namespace spillway
