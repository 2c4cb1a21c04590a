// From the rows of a calibration to the profile of the machine that was measured.
//
// Everything says where it comes from; what has not been measured yet is `assumed` and says so, so that the profile of a
// calibration that was cut off at any moment is a valid one.
#ifndef SPILLWAY_CALIBRATE_MEASURE_PROFILE_H_
#define SPILLWAY_CALIBRATE_MEASURE_PROFILE_H_

#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"
#include "calibrate/ops/operands.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/machine.h"
#include "model/samples/sample.h"

namespace spillway {

// The facts of a profile that no sample holds.
struct BenchFacts {
  std::string name;                    // of the profile
  std::string device;                  // as it will be called: "cpu0"
  std::string description;             // of machine, link rate and threads
  std::string software;                // library and version, of this program too
  std::string measured;                // origin of every measured number: device, library, date
  std::string driver, cuda, cudnn;     // versions, for MeasuredWith
  Platform platform = Platform::kCpu;  // whose forms the models have
  int cores = 0;                       // 0 = not known, or it does not matter how busy they are
  Bytes memory = 0;                    // of the host
  Bytes pinned_limit = 0;              // of it, as the user states; 0 = all of it
  // The device's own memory, and the bytes that context and libraries take of it; 0 = device and host share memory.
  Bytes device_memory = 0, reserve = 0;
  Bytes cache = 0;          // the last one before memory
  int multiprocessors = 1;  // compute threads
  // Assumed until they are measured, in operations and bytes per nanosecond; 0 = those of a processor of today.
  double peak_flops = 0, memory_bandwidth = 0;
  MathPeaks math_peaks{};  // of the chip table: no calibration measures them
  Source math_source{};
  double link_rate = 0;  // bytes per nanosecond that was asked for; 0 = unlimited
  std::vector<std::string> notes;
};

// One operation after all its rounds.
struct BenchTime {
  Sample sample;     // the median of the rounds, those that are noisy or cut short only where there is no other
  int rounds = 0;    // that the median is of
  double error = 0;  // relative, one standard deviation: how far rounds differ, beyond what they all share
  bool noisy = false;
  bool cut_short = false;
};
std::vector<BenchTime> MergeRounds(std::span<const Sample> rows);

// By how much the machine itself was faster or slower in other rounds: standard deviation of the logarithm that all
// operations of a round share; 0 where there is one round only.
double SharedDrift(std::span<const Sample> rows);

// Median over the rows; 0 where none says it.
double MedianLoad(std::span<const Sample> rows);

// True if other processes used a good part of the machine during the measurement. Their use of caches, memory bandwidth
// and shared cores changes times by tens of percent from one moment to the next, which repetition does not show.
bool WasBusy(std::span<const Sample> rows, const BenchFacts& facts);

// Peak: the best rate of a convolution or product without a fast algorithm. Memory bandwidth: the best rate of an
// operation that memory bounds and the cache cannot hold. 0 where no row tells.
struct MeasuredChip {
  double peak_flops = 0, memory_bandwidth = 0;
};
MeasuredChip ChipOfSamples(std::span<const BenchTime> times, Bytes cache);

// Where `rows` come from several machines (calibrate/measure/journal.h) a note tells for each how many. A `pinned_limit` beyond
// `memory` is believed, for machines that get more memory when they need it: the host has as much, which is assumed.
// `folds`: of the cross-validation of the kernel models (FitOptions); 0 is faster, for profiles on the way.
Machine MachineOfBench(std::span<const Sample> rows, const BenchFacts& facts, int folds);

// The host's cost of issuing each kind of op, from the rows of a calibration.
struct BenchLaunches {
  std::vector<LaunchCost> costs;  // by op and pass, in the model's order; whole nanoseconds
  int launches = 0;               // that they are medians of
};
// The median over the fp32 launches of each op and pass that were timed alone and whose rows have `host_us`. For a
// launch with several algorithms the fastest one counts, as in a step.
BenchLaunches LaunchesOf(std::span<const BenchTime> times);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_PROFILE_H_
