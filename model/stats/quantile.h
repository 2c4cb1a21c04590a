// Quantiles: of values, of weighted values, and of something dear to compute. The only ones there are.
#ifndef SPILLWAY_MODEL_STATS_QUANTILE_H_
#define SPILLWAY_MODEL_STATS_QUANTILE_H_

#include <utility>
#include <vector>

namespace spillway {

// Half of what 80 % of a normal distribution lie within, in its standard deviations.
constexpr double kNormal80 = 1.2816;

// Linear between the order statistics, x[0] at share 0 and x[n-1] at share 1. REQUIRES: values, 0 <= share <= 1; of the
// second that they are sorted.
double Quantile(std::vector<double> values, double share);
double SortedQuantile(const std::vector<double>& sorted, double share);
// One of the values: the one at rank share x (n - 1), rounded, halves up. REQUIRES: values, 0 <= share <= 1.
double NearestRank(std::vector<double> values, double share);
// The middle value, or the mean of the two in the middle. REQUIRES: values.
double Median(std::vector<double> values);
// The value that `quantile` of the weights are at or below. 0 for an empty list.
double WeightedQuantile(std::vector<std::pair<double, double>> values_and_weights, double quantile);

// A quantile of something dear to compute, from a few values of it and many of something cheap that goes along with it.
//
// The regression estimator of survey sampling, for a quantile: near the quantile of the cheap x a line is fitted to the
// few pairs (x, y); y is then distributed as that line of all the x plus the residuals of the pairs. What of y's
// spread x explains is thereby as well known as x's, and chance is left in the residuals alone.
//
// The p-quantile of y, 0 < p < 1. x[i] and y[i] belong together for every i < y.size(); x has more values, drawn alike.
// Where y does not rise with x the nearest rank of the few y alone. REQUIRES: 8 <= y.size() <= x.size(), all finite.
double QuantileByProxy(const std::vector<double>& y, const std::vector<double>& x, double p);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_STATS_QUANTILE_H_
