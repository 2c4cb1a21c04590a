// Simpler rivals of the kernel models, trained and tested on the same rows: what the models must beat to be worth
// their forms. All predict what the harness shows.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_BASELINES_H_
#define SPILLWAY_CALIBRATE_ACCURACY_BASELINES_H_

#include <array>
#include <vector>

#include "calibrate/fit/folds.h"
#include "calibrate/fit/group.h"

namespace spillway {

enum class Baseline {
  kLine,      // time = a + b x work (flops; bytes where there are more of them), on the chip's peak
  kRoofline,  // time = a + max(flops / (e peak), bytes / (f bandwidth)), e and f constant
};
constexpr std::array<Baseline, 2> kBaselines = {Baseline::kLine, Baseline::kRoofline};
const char* BaselineName(Baseline baseline);  // "line", "roofline"

// Logarithms of nanoseconds, one per split.test. REQUIRES: a training row.
std::vector<double> PredictBaseline(Baseline baseline, const FitGroup& group, const Split& split);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_BASELINES_H_
