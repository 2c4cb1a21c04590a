// Predicted against measured: what validating a scenario on a real device finds out. Filled by calibrate/, shown by
// reports/.
//
// A case is one network with its batch, one machine with its link rate, and one memory limit; its rows are the plans
// that were carried out there, strategies' and random ones, and are compared with each other.
#ifndef SPILLWAY_CALIBRATE_VALIDATE_RESULTS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_RESULTS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

// Where the error of a row comes from. predicted / measured is about the product of kernels, copies and replay, each
// 1 where nothing is wrong. 0: nothing of the kind was measured.
struct ErrorSplit {
  double kernels = 0;       // predicted kernel times / measured spans, summed
  double seen = 0;          // the same over kernels whose very launch was calibrated: what the step around them changes
  double modelled = 0;      // over kernels whose time a model said
  double isolated = 0;      // predicted / measured alone, over kernels that were
  double context = 0;       // measured alone / measured spans, over the same
  double copies = 0;        // predicted copy times / measured spans, summed
  double replay = 0;        // the step simulated with the measured spans / the step measured with them
  double gaps = 0;          // share of that step in which the compute stream stood still with all it needed there
  double seen_share = 0;    // of the predicted kernel time
  double perturbation = 0;  // instrumented / uninstrumented - 1
  // The first of these again, over ops of the forward pass, those that are computed once more, and the backward pass with
  // the update.
  double forward = 0, recomputed = 0, backward = 0;
};

// Whether training out of core computed what in-core training does, from the same seed: parameters, optimizer state and
// losses after the same steps.
struct Numerics {
  enum class Kind : std::uint8_t { kSkipped, kBitwise, kDiffers } kind = Kind::kSkipped;
  double largest_difference = 0;  // relative to the largest magnitude of the tensor
  std::string tensor;             // where
  double allowed = 0;             // as much is rounding: of a plan that divides ops or the batch, or chooses algorithms
};

// One plan at one case. Times are nanoseconds of a step, sizes bytes; what was not measured is 0 unless said otherwise.
struct ValidationRow {
  int case_index = 0;
  std::string point;     // names its files; "" of a random plan
  std::string strategy;  // label; of a random plan "random 7"
  std::string stratum;   // of a random plan
  bool random = false;
  bool feasible = false;
  std::string reason;    // why not; or what failed while it ran
  bool failed = false;   // it is feasible and did not run to its end
  bool refused = false;  // failed before it began: the library does not compute one of its kernels

  Nanos predicted = 0;                          // at the pace measured, as far as it is applied
  Nanos as_calibrated = 0;                      // at the profile's own; 0: no pace was measured
  Nanos at_pace = 0;                            // at the one measured before anything ran, applied or not; 0: likewise
  std::vector<std::vector<double>> step_times;  // nanoseconds, by round
  std::vector<Nanos> moments;                   // of the rounds, by the clock that they were measured with
  Nanos tracked = 0;         // predicted at the pace of each step's moment, median; 0: the pace was not followed
  double tracked_error = 0;  // that prediction / the step - 1, median over the steps
  double measured = 0;       // their median
  double measured_low = 0, measured_high = 0;  // 95 % interval of it
  double measured_spread = 0;                  // interquartile range / median of the step times
  double clock_mhz = 0, lowest_clock_mhz = 0;  // of the device in these steps: median, slowest step; 0: not told
  ErrorSplit split;

  Bytes predicted_peak = 0, measured_peak = 0;      // highest arena address; highest byte that changed
  Bytes predicted_device = 0, measured_device = 0;  // arena and reserve; growth of the process but for host buffers
  Bytes predicted_host = 0, measured_host = 0;      // pinned
  Numerics numerics;

  double Fastest() const;                                                         // of the step times; 0 without any
  double Error() const { return static_cast<double>(predicted) / measured - 1; }  // REQUIRES: measured
  bool Measured() const { return measured > 0; }
};

// The link as it was found at the start.
struct MeasuredLink {
  double stated_rate = 0;            // bytes per nanosecond; 0 = not limited
  double in_rate = 0, out_rate = 0;  // of a large copy alone, host to device and back
  Nanos in_latency = 0, out_latency = 0;
  double in_duplex = 1, out_duplex = 1;  // factors on the rates while copies run in both directions
};

// How fast the device computed before anything was predicted, against when its profile was measured
// (calibrate/validate/pace.h): factors on kernel times.
struct PaceGroup {
  double factor = 1, low = 0, high = 0;  // 95 % interval; both 0: not measured
  int launches = 0;                      // that were measured again
  bool of_other = false;                 // these are too few: factor and interval are the other group's
  // The same while steps ran, by launches timed between them; all 0: nobody looked.
  double meanwhile = 0, meanwhile_low = 0, meanwhile_high = 0;
  // Predictions are at this factor. Otherwise they are at 1: the interval holds 1, or the one of meanwhile does not lie
  // on the same side of 1, or meanwhile is nearer to 1 than to the factor.
  bool applied = false;
  double Applied() const { return applied ? factor : 1; }
  bool HoldsOne() const { return low <= 1 && high >= 1; }
};
struct MeasuredPace {
  PaceGroup products, others;  // convolutions and linear; all other ops
  bool Known() const { return products.high > 0 || others.high > 0; }
};

// How far the machine can be believed, judged before any model is. Negative: not known.
struct MachineNoise {
  // Medians of five rounds that span a tenth scatter by 4.3 % (the range of five normal values is 2.3 standard
  // deviations), so that the median of all is unsure by 2.4 %: as much as the errors and regrets that are to be told.
  static constexpr double kRounds = 0.10;

  double load = -1;      // most threads that wanted a core, one-minute average, at any look
  double room = -1;      // up to so many nobody waits: cores, or the threads of this process where there are fewer
  double rounds = -1;    // rounds of one Program: largest - smallest median over their median; median over Programs
  double launches = -1;  // launches timed again and again: the same of their times as they passed, kept or not
  bool Crowded() const { return load >= 0 && room > 0 && load > room; }  // somebody waits for a core
  bool Unsteady() const { return rounds > kRounds; }
  bool Judged() const { return (load >= 0 && room > 0) || rounds >= 0; }  // by either of the two
  bool Trusted() const { return Judged() && !Crowded() && !Unsteady(); }
  void Add(const MachineNoise& other) {  // the worse of each
    load = std::max(load, other.load);
    room = std::max(room, other.room);
    rounds = std::max(rounds, other.rounds);
    launches = std::max(launches, other.launches);
  }
};

// One network at one batch, on one machine, within one memory limit: what holds for all of its rows, and what they come to.
// Times are nanoseconds, sizes bytes.
struct ValidationCase {
  std::string scenario, network, network_base, machine, device;
  std::int64_t batch = 0;
  Bytes memory_limit = 0;
  MeasuredLink link;
  MeasuredPace pace;
  MachineNoise noise;
  // Of a device's own memory, what is in use beside arenas: the profile's reserve, which predicted_device holds, and what
  // was found with the case's kernels loaded, which measured_device holds; -1: it has none.
  Bytes profile_reserve = 0, measured_reserve = -1;
  double in_core = 0;  // measured in an arena as large as it takes; 0 = not run
  double in_core_predicted = 0;
  ErrorSplit in_core_split;

  // What the rows come to.
  double tau = 0;          // Kendall's tau-b of predicted against measured, strategies and random plans together
  std::int64_t pairs = 0;  // compared for it
  // Of all pairs those whose measured times differ beyond noise, and how many of them are predicted in that order.
  std::int64_t clear_pairs = 0, clear_right = 0;
  std::string best_predicted, best_measured;  // strategies
  double regret = 0;                          // measured time of the one predicted best / best measured - 1
  double regret_low = 0, regret_high = 0;     // 95 % interval
  bool best_or_noise = false;
};

// How a model of the step time does on all measured rows.
struct FalsificationRow {
  std::string variant, description;
  double median_error = 0, worst_error = 0;  // of |predicted / measured - 1|
  double tau = 0;
  std::int64_t closer = 0, farther = 0;  // rows at which the full model's error is smaller, larger
  double p = 1;                          // sign test
  double gain_low = 0, gain_high = 0;    // |its error| - |the full model's|, mean: 95 % interval over networks' cases
  std::string verdict;                   // a sentence
};

inline double ValidationRow::Fastest() const {
  double fastest = 0;
  for (const std::vector<double>& round : step_times) {
    for (const double time : round) fastest = fastest == 0 ? time : std::min(fastest, time);
  }
  return fastest;
}

// Errors of predicted step times, predicted / measured - 1, over the measured rows of a group: signed median; median and
// largest magnitude.
struct ErrorSummary {
  std::string group;
  int rows = 0;
  double median_signed = 0, median_error = 0, worst_error = 0;
};

// All that a validation found. Rows say by `case_index` which case they are of; what stands for the whole set is filled in
// when all cases are there (calibrate/validate/falsify.h).
struct ValidationSet {
  std::vector<ValidationCase> cases;
  std::vector<ValidationRow> rows;  // in order of cases
  MachineNoise noise;               // of all cases, and before them
  std::vector<ErrorSummary> summaries;
  std::vector<FalsificationRow> falsification;
  // The same with one factor per case for each model, the median of measured / predicted there: what is left is how far
  // it tells plans apart.
  std::vector<FalsificationRow> scaled_falsification;
  double tau = 0;                                 // over pairs within cases
  std::int64_t clear_pairs = 0, clear_right = 0;  // as in ValidationCase, summed
  int best_or_noise = 0, judged = 0;              // cases
  double median_replay = 0;                       // of |replay - 1|
  std::vector<std::string> notes;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_RESULTS_H_
