// Predictions of samples not seen, ours and the baselines', on the same splits: what an accuracy report is made from.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_OUTCOMES_H_
#define SPILLWAY_CALIBRATE_ACCURACY_OUTCOMES_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"

namespace spillway {

struct HeldOutOutcome {
  int sample = 0;        // index into the samples
  std::string split;     // "layer", or what was left out: "window 5x5", "network vgg16", "batch >= 64 from <= 8"
  std::string method;    // "ours", or BaselineName
  double log_ratio = 0;  // log(predicted / measured)
  double Error() const;  // |predicted / measured - 1|
};

// Cross-validation of ours is taken from `fit`; everything else is fitted here.
std::vector<HeldOutOutcome> GatherOutcomes(std::span<const Sample> samples, const FitOptions& options,
                                           const FitResult& fit);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_OUTCOMES_H_
