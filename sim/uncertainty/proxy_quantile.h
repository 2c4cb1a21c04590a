// A quantile of something dear to compute, from a few values of it and many of something cheap that goes along with it.
//
// The regression estimator of survey sampling, for a quantile: near the quantile of the cheap x a line is fitted to the
// few pairs (x, y); y is then distributed as that line of all the x plus the residuals of the pairs. What of y's
// spread x explains is thereby as well known as x's, and chance is left in the residuals alone.
#ifndef SPILLWAY_SIM_UNCERTAINTY_PROXY_QUANTILE_H_
#define SPILLWAY_SIM_UNCERTAINTY_PROXY_QUANTILE_H_

#include <vector>

namespace spillway {

// The p-quantile of y, 0 < p < 1. x[i] and y[i] belong together for every i < y.size(); x has more values, drawn alike.
// Where y does not rise with x the quantile of the few y alone. REQUIRES: 8 <= y.size() <= x.size(), all finite.
double QuantileByProxy(const std::vector<double>& y, const std::vector<double>& x, double p);

// Of a sample: the value at rank p x (size - 1), rounded. REQUIRES: not empty.
double QuantileOf(std::vector<double> sample, double p);

}  // namespace spillway

#endif  // SPILLWAY_SIM_UNCERTAINTY_PROXY_QUANTILE_H_
