// Predictions of samples not seen, ours and simpler rivals', on the same splits, and what they come to by cells: what an
// accuracy report is made from.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_CELLS_H_
#define SPILLWAY_CALIBRATE_ACCURACY_CELLS_H_

#include <array>
#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/folds.h"
#include "calibrate/fit/group.h"

namespace spillway {

// Simpler rivals of the kernel models, trained and tested on the same rows: what the models must beat to be worth
// their forms. All predict what the harness shows.
enum class Baseline {
  kLine,      // time = a + b x work (flops; bytes where there are more of them), on the chip's peak
  kRoofline,  // time = a + max(flops / (e peak), bytes / (f bandwidth)), e and f constant
};
constexpr std::array<Baseline, 2> kBaselines = {Baseline::kLine, Baseline::kRoofline};
const char* BaselineName(Baseline baseline);  // "line", "roofline"

// Logarithms of nanoseconds, one per split.test. REQUIRES: a training row.
std::vector<double> PredictBaseline(Baseline baseline, const FitGroup& group, const Split& split);

struct HeldOutOutcome {
  int sample = 0;        // index into the samples
  std::string split;     // "layer", or what was left out: "window 5x5", "network vgg16", "batch >= 64 from <= 8"
  std::string method;    // "ours", or BaselineName
  double log_ratio = 0;  // log(predicted / measured)
};

// Cross-validation of ours is taken from `fit`; everything else is fitted here.
std::vector<HeldOutOutcome> GatherOutcomes(std::span<const Sample> samples, const FitOptions& options,
                                           const FitResult& fit);

// Outcomes gathered into the cells of a table: which subset of the samples, which split, which method.
struct CellKey {
  std::string device, op, pass, math;
  std::string split;   // as in HeldOutOutcome
  std::string subset;  // "all", "algorithm winograd", "harness deepbench", "below 0.1 ms", ...
  auto operator<=>(const CellKey&) const = default;
};

struct Cell {
  std::vector<double> log_ratios;
  double MedianError() const;  // of |predicted / measured - 1|
  double Error90() const;      // its 90th percentile
  double Bias() const;         // median of predicted / measured - 1
};

// By key, then by method. Subsets other than "all" only for the cross-validation by layer.
using Cells = std::map<CellKey, std::map<std::string, Cell>>;
Cells GatherCells(std::span<const HeldOutOutcome> outcomes, std::span<const Sample> samples);

// "below 0.1 ms", "0.1 to 1 ms", "1 to 10 ms", "from 10 ms": by the measured time.
std::string SizeClass(const Sample& sample);

std::string CellsCsv(const Cells& cells);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_CELLS_H_
