#include "sim/uncertainty/proxy_quantile.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

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

double QuantileOf(std::vector<double> sample, double p) {
  assert(!sample.empty());
  const auto rank = static_cast<std::ptrdiff_t>(std::lround(p * static_cast<double>(sample.size() - 1)));
  std::nth_element(sample.begin(), sample.begin() + rank, sample.end());
  return sample[static_cast<std::size_t>(rank)];
}

double QuantileByProxy(const std::vector<double>& y, const std::vector<double>& x, double p) {
  assert(y.size() >= 8 && y.size() <= x.size());
  const std::vector<std::size_t> pairs = NearestHalf(x, y.size(), QuantileOf(x, p));
  const Line line = FitLine(x, y, pairs);
  if (line.slope <= 0) return QuantileOf(y, p);
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
