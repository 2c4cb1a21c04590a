// How well the time of a whole step is predicted, and whether the interval stated for it holds.
//
// Errors that operations share do not average out in a sum, so intervals of single operations say little of a step's.
// Published steps whose every operation was measured too are rare. What samples offer is sums of operations, each
// predicted by a fit that has not seen its layer:
//   network  all operations of a training step that one source measured and says to be of one network or application,
//            every pass, each as often as it was measured; of several algorithms the fastest measured, against the
//            fastest predicted
//   drawn    operations drawn at random from all that one source measured on one device: no network, merely a sum. The
//            draws overlap and share their stack, so their coverage tells of the models, not of stacks
// A source is a harness, a version of CUDA and a data type.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_STEPS_H_
#define SPILLWAY_CALIBRATE_ACCURACY_STEPS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibrate/fit/fit.h"

namespace spillway {

struct StepOp {
  double measured_us = 0;
  double predicted_us = 0;  // at the rates of the samples' own software stack
  double reference_us = 0;  // at those of the profile's models
  double shared_error = 0, own_error = 0;
  std::string model;           // launches of one model share an error
  std::uint64_t identity = 0;  // of what is computed: the same is wrong alike
  double count = 1;            // how often the step runs it
};

struct SummedStep {
  std::string device, source, name;  // source: "deepbench, CUDA 10.1, fp16"; name: the network's, or "drawn"
  std::vector<StepOp> ops;
  DataType type = DataType::kFp32;
  double Measured() const;
};

// What a stated interval is made of.
enum class StepErrors : std::uint8_t {
  kOwn,        // own stack, each launch's own error
  kModel,      // own stack, and what the launches of a model share
  kReference,  // the profile's rates, the same errors
  kStack,      // the profile's rates, and what all kernels of a stack share: what `run` prints
};
constexpr std::array<StepErrors, 4> kStepErrors = {StepErrors::kOwn, StepErrors::kModel, StepErrors::kReference,
                                                   StepErrors::kStack};

// Microseconds. From the 10th to the 90th percentile of common draws (sim/uncertainty/uncertainty.h): draw i means the same deviate
// of a model in every step.
struct StepInterval {
  double predicted = 0, low = 0, high = 0;
};
std::array<StepInterval, kStepErrors.size()> IntervalsOf(const SummedStep& step, double stack_error, int draws = 200);

// By device, source and name.
std::vector<SummedStep> NetworkSteps(std::span<const Sample> samples, const FitResult& fit);
struct DrawnSteps {
  int steps = 50, ops = 64;
  std::uint64_t seed = 1;
};
// Only of sources with at least twice as many operations as a step takes.
std::vector<SummedStep> RandomSteps(std::span<const Sample> samples, const FitResult& fit,
                                    const DrawnSteps& options = {});

// Steps of one device, source and name: how far off the sums are and how often the intervals held them.
struct StepSummary {
  std::string device, source, name;
  int steps = 0, ops = 0;   // ops: median over the steps, repeated ones counted once
  double milliseconds = 0;  // median measured
  struct Part {
    double median_error = 0, p90_error = 0, bias = 0;  // of |predicted / measured - 1|; of predicted / measured - 1
    double coverage = 0;                               // share of steps inside
    double width = 0;                                  // median of (high - low) / predicted
  };
  std::array<Part, kStepErrors.size()> parts;
};
std::vector<StepSummary> SummariseSteps(std::span<const SummedStep> steps, double stack_error);
// Those of networks again, those of one data type together where there are two at least: device "all", source the type.
std::vector<SummedStep> AllNetworks(std::span<const SummedStep> networks);

// The section of a report, and rows of its CSV (accuracy/cells.h).
std::string StepsMarkdown(std::span<const StepSummary> summaries, double stack_error);
std::string StepsCsv(std::span<const StepSummary> summaries);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_STEPS_H_
