// What the kernel models of published machines should reach on layers not seen, and whether they do.
#ifndef SPILLWAY_CALIBRATE_ACCURACY_TARGETS_H_
#define SPILLWAY_CALIBRATE_ACCURACY_TARGETS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/fit.h"

namespace spillway {

// Errors are |predicted / measured - 1|.
struct AccuracyTarget {
  const char* name;
  std::string_view device;  // chips whose name begins so
  bool (*counts)(const Sample&);
  double median, p90;  // at most
};

// One target and the samples of one device, harness and arithmetic that it speaks of.
struct TargetResult {
  const AccuracyTarget* target = nullptr;
  std::string device, harness, math;
  int samples = 0;
  double median = 0, p90 = 0;
  bool Met() const { return median <= target->median && p90 <= target->p90; }
};
// In the order of the targets; only those with samples.
std::vector<TargetResult> CheckTargets(std::span<const Sample> samples, const FitResult& fit);

// Measured scratch of single algorithms against the forms' formulas.
struct WorkspaceResult {
  int samples = 0, close = 0;  // close: within 2 %, or the 2 MiB to which allocators round
};
WorkspaceResult CheckWorkspaces(std::span<const Sample> samples, const FitResult& fit);

// The table "target | ours | met" of a report, stated intervals included; "" where no target has samples.
std::string TargetsMarkdown(std::span<const Sample> samples, const FitResult& fit);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_ACCURACY_TARGETS_H_
