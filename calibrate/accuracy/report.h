// How far predictions are from samples they have not seen, beside simpler rivals on the same splits.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_REPORT_H_
#define SPILLWAY_CALIBRATE_ACCURACY_REPORT_H_

#include <span>
#include <string>

#include "calibrate/fit/fit.h"

namespace spillway {

struct AccuracyReport {
  // Median and 90th percentile of |predicted / measured - 1| by device, op, pass, algorithm and size, of ours and of
  // the baselines (cells.h), cross-validated by layer and for each extrapolation (folds.h); how often the
  // algorithm predicted to be fastest was the one chosen; the ten worst; how many measured times lie within the 80 %
  // interval stated, and how wide that is, of layers left out and of whole networks and sources; the same of sums of operations (steps.h); what the models should reach and whether they do
  // (targets.h).
  std::string markdown;
  // One row per cell: device,op,pass,math,split,subset,method,samples,median_error,p90_error,bias,coverage,width
  // (bias: median of predicted / measured - 1). The last two are of rows whose op is "step": share of the steps within
  // their stated interval, and its median width relative to the prediction.
  std::string csv;
};

// `fit` is what Fit returned for the same samples and options; `files` what Sample::file counts, empty: lines are told
// without them. Deterministic: same input, same bytes.
AccuracyReport ReportAccuracy(std::span<const Sample> samples, const FitOptions& options, const FitResult& fit,
                              std::span<const std::string> files = {});

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_REPORT_H_
