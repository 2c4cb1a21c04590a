// The results of a validation: predicted and measured step times on a real device. calibrate/ fills them, reports/
// shows them.
//
// A case is one network with its batch, one machine with its link rate, and one memory limit. Its rows are the plans
// that ran there, from strategies and at random. Rows of one case are compared with each other.
#ifndef SPILLWAY_CALIBRATE_VALIDATE_RESULTS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_RESULTS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

// The error of a row, split by cause (split.h). predicted / measured is about kernels x copies x replay; each factor is
// 1 if nothing is wrong. 0: not measured. Example: kernels 0.90 means that the predicted kernel times are 10 % too
// short.
struct ErrorSplit {
  double kernels = 0;       // predicted kernel times / measured spans, summed
  double seen = 0;          // the same over kernels whose very launch was calibrated: the effect of the step's context
  double modelled = 0;      // the same over kernels whose time came from a model
  double isolated = 0;      // predicted / measured alone, over kernels that were measured alone
  double context = 0;       // measured alone / measured spans, over the same kernels
  double copies = 0;        // predicted copy times / measured spans, summed
  double replay = 0;        // the step simulated with the measured spans / the measured step
  double gaps = 0;          // share of that step in which the compute stream stood still with nothing to wait for
  double seen_share = 0;    // share of calibrated launches in the predicted kernel time
  double perturbation = 0;  // instrumented / uninstrumented step time - 1
  // `kernels` over three groups: forward, recomputation, and backward with the update.
  double forward = 0, recomputed = 0, backward = 0;
};

// Compares the numerical results of out-of-core training with those of in-core training from the same seed: parameters,
// optimizer state and losses after the same steps.
struct Numerics {
  enum class Kind : std::uint8_t { kSkipped, kBitwise, kDiffers } kind = Kind::kSkipped;
  double largest_difference = 0;  // relative to the largest magnitude of the tensor
  std::string tensor;             // the tensor with the largest difference
  double allowed =
      0;  // a difference up to this is rounding, for plans that divide ops or the batch, or choose algorithms
};

// One plan at one case. Times are nanoseconds of a step, sizes bytes. 0 means not measured, unless said otherwise.
struct ValidationRow {
  int case_index = 0;
  std::string point;     // names its files; "" for a random plan
  std::string strategy;  // label; for a random plan "random 7"
  std::string stratum;   // random plans only
  bool random = false;
  bool feasible = false;
  std::string reason;    // why the plan is infeasible, or what failed while it ran
  bool failed = false;   // the plan is feasible and did not run to its end
  bool refused = false;  // failed before it began: the library does not compute one of its kernels

  Nanos predicted = 0;      // at the measured pace, if it is applied
  Nanos as_calibrated = 0;  // predicted at the profile's pace; 0: no pace was measured
  Nanos at_pace = 0;        // predicted at the pace found before the case, applied or not; 0 as above
  std::vector<std::vector<double>> step_times;  // nanoseconds, by round
  std::vector<Nanos> moments;                   // the moment of each round, by the clock of the measurement
  Nanos tracked = 0;         // predicted at the pace of each step's moment, median; 0: the pace was not tracked
  double tracked_error = 0;  // that prediction / the step - 1, median over the steps
  double measured = 0;       // median of the step times
  double measured_low = 0, measured_high = 0;  // 95 % interval of `measured`
  double measured_spread = 0;                  // interquartile range / median of the step times
  double clock_mhz = 0, lowest_clock_mhz = 0;  // the device's clock: median over the steps, slowest step; 0: unknown
  ErrorSplit split;

  Bytes predicted_peak = 0, measured_peak = 0;      // highest arena address; highest byte that changed
  Bytes predicted_device = 0, measured_device = 0;  // arena and reserve; growth of the process without host buffers
  Bytes predicted_host = 0, measured_host = 0;      // pinned
  Bytes allocated = 0;                              // by the framework's allocator, at most; carried plans only
  Numerics numerics;

  double Fastest() const;                                                         // the shortest step time, or 0
  double Error() const { return static_cast<double>(predicted) / measured - 1; }  // REQUIRES: measured
  bool Measured() const { return measured > 0; }
};

// The link, measured at the start of the validation. Rates are bytes per nanosecond.
struct MeasuredLink {
  double stated_rate = 0;            // the rate that copies are limited to; 0 = not limited
  double in_rate = 0, out_rate = 0;  // rate of a large copy alone, host to device and back
  Nanos in_latency = 0, out_latency = 0;
  double in_duplex = 1, out_duplex = 1;  // factors on the rates while copies run in both directions
};

// The pace (calibrate/validate/pace.h): factors on the profile's kernel times, measured before anything was predicted.
struct PaceGroup {
  double factor = 1, low = 0, high = 0;  // 95 % interval; both 0: not measured
  int launches = 0;                      // number of launches measured again
  bool of_other = false;                 // these are too few: factor and interval are the other group's
  // The factor during the case, from launches timed between rounds, with its interval; all 0: not measured.
  double meanwhile = 0, meanwhile_low = 0, meanwhile_high = 0;
  // true: predictions use this factor. false: they use 1, for one of three reasons. The interval contains 1; or the
  // interval of `meanwhile` does not lie on the same side of 1; or `meanwhile` is nearer to 1 than to the factor.
  bool applied = false;
  double Applied() const { return applied ? factor : 1; }
  bool HoldsOne() const { return low <= 1 && high >= 1; }
};
struct MeasuredPace {
  PaceGroup products, others;  // convolutions and linear; all other ops
  bool Known() const { return products.high > 0 || others.high > 0; }
};

// The noise of the machine: tells if its measurements can be trusted, before any model is judged. Negative: unknown.
struct MachineNoise {
  // Above this spread of rounds the machine is unsteady. If five medians span 10 %, they scatter by 4.3 % (the range of
  // five normal values is 2.3 standard deviations). Their median is then uncertain by 2.4 %, as much as the errors to
  // be measured.
  static constexpr double kRounds = 0.10;

  double load = -1;      // the most threads that wanted a core (one-minute average), at any look
  double room = -1;      // the load up to which no thread waits: cores, or this process's threads if they are fewer
  double rounds = -1;    // (largest - smallest median of a Program's rounds) / their median; median over Programs
  double launches = -1;  // the same spread of the elapsed times of launches that were timed repeatedly
  bool Crowded() const { return load >= 0 && room > 0 && load > room; }  // some thread waits for a core
  bool Unsteady() const { return rounds > kRounds; }
  bool Judged() const { return (load >= 0 && room > 0) || rounds >= 0; }  // at least one of the two is known
  bool Trusted() const { return Judged() && !Crowded() && !Unsteady(); }
  void Add(const MachineNoise& other) {  // takes the worse value of each field
    load = std::max(load, other.load);
    room = std::max(room, other.room);
    rounds = std::max(rounds, other.rounds);
    launches = std::max(launches, other.launches);
  }
};

// One network at one batch, on one machine, within one memory limit: facts that all its rows share, and their summary.
// Times are nanoseconds, sizes bytes.
struct ValidationCase {
  std::string scenario, network, network_base, machine, device;
  std::int64_t batch = 0;
  Bytes memory_limit = 0;
  MeasuredLink link;
  MeasuredPace pace;
  MachineNoise noise;
  // A framework carried the plans out (carried.h). There is no arena, no measured link, and no span. measured_peak of its
  // rows is the peak that the carrier counted.
  bool carried = false;
  // The device memory in use besides arenas. The profile's value is part of predicted_device. The measured value, with
  // the case's kernels loaded, is part of measured_device; -1: the device has no memory of its own.
  Bytes profile_reserve = 0, measured_reserve = -1;
  double in_core = 0;  // the in-core step, measured in an arena as large as it needs; 0 = not run
  double in_core_predicted = 0;
  ErrorSplit in_core_split;

  // The summary of the rows.
  double tau = 0;          // Kendall's tau-b of predicted against measured times, strategies and random plans together
  std::int64_t pairs = 0;  // number of pairs compared for tau
  // The pairs whose measured times differ beyond noise, and how many of them are predicted in that order.
  std::int64_t clear_pairs = 0, clear_right = 0;
  std::string best_predicted, best_measured;  // strategies
  double regret = 0;                          // measured time of the strategy predicted best / best measured time - 1
  double regret_low = 0, regret_high = 0;     // its 95 % interval
  bool best_or_noise = false;
};

// The accuracy of one model of the step time (falsify.h) over all measured rows.
struct FalsificationRow {
  std::string variant, description;
  double median_error = 0, worst_error = 0;  // median and maximum of |predicted / measured - 1|
  double tau = 0;
  std::int64_t closer = 0, farther = 0;  // rows at which the full model's error is smaller, larger
  double p = 1;                          // sign test
  double gain_low = 0, gain_high = 0;    // 95 % interval of mean(|its error| - |the full model's error|), over cases
  std::string verdict;                   // a sentence
};

inline double ValidationRow::Fastest() const {
  double fastest = 0;
  for (const std::vector<double>& round : step_times) {
    for (const double time : round) fastest = fastest == 0 ? time : std::min(fastest, time);
  }
  return fastest;
}

// Errors of predicted step times, predicted / measured - 1, over the measured rows of a group: signed median; median
// and largest magnitude.
struct ErrorSummary {
  std::string group;
  int rows = 0;
  double median_signed = 0, median_error = 0, worst_error = 0;
};

// All results of a validation. `case_index` of a row names its case. The summary fields of the whole set are filled in
// when all cases are finished (calibrate/validate/falsify.h).
struct ValidationSet {
  std::vector<ValidationCase> cases;
  std::vector<ValidationRow> rows;  // in order of cases
  MachineNoise noise;               // the worst over all cases and the time before them
  std::vector<ErrorSummary> summaries;
  std::vector<FalsificationRow> falsification;
  // As above, with one factor per case for each model, the median of measured / predicted there. The errors left show
  // how well a model tells plans apart.
  std::vector<FalsificationRow> scaled_falsification;
  double tau = 0;                                 // over all pairs within cases
  std::int64_t clear_pairs = 0, clear_right = 0;  // as in ValidationCase, summed
  int best_or_noise = 0, judged = 0;              // numbers of cases
  double median_replay = 0;                       // median of |replay - 1|
  std::vector<std::string> notes;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_RESULTS_H_
