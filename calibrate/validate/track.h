// Tracking: the pace of a device, measured again and again while steps are measured.
//
// The pace before a case says little about the minute in which a step ran. So some launches are timed again between
// rounds. Such a probe compares their elapsed time with the profile, including time that other processes take from the
// core. Each step is compared with a prediction at the pace of its own moment, interpolated between the probes before
// and after it. (The factors include a percent or two because the profile's fastest algorithm was in part the
// luckiest.)
//
// A launch of a millisecond shows how fast a core computes, but not how long a thread waits for the core, because other
// processes take it for several milliseconds at a time. If the target can measure waiting (BenchTarget::Waiting), the
// factor is the launches' computing time multiplied by the waiting. Otherwise the elapsed time of the launches counts.
// Waiting is also measured just before and after each session of steps, which takes a tenth of a second. Waiting
// changes within a round; the speed of a core hardly does.
//
// Probes run while no step runs. No measured step enters the prediction that it is compared with.
//
// Copies and costs of issuing keep their predictions: the link was measured before, and its rate is mostly stated.
//
// Tested by validate_track_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_TRACK_H_
#define SPILLWAY_CALIBRATE_VALIDATE_TRACK_H_

#include <span>
#include <vector>

#include "calibrate/validate/pace.h"
#include "calibrate/validate/results.h"
#include "sim/plan/plan.h"
#include "sim/program/program.h"

namespace spillway {

// The most launches of each group to track: the ones that take longest in a step. A few more than an interval needs
// (six).
constexpr std::size_t kTrackedLaunches = 8;
std::vector<PacedLaunch> TrackedLaunches(const std::vector<PacedLaunch>& timed);

// The times of a launch in one probe, in nanoseconds.
struct LaunchAgain {
  std::size_t index = 0;  // index among the tracked launches
  bool product = false;
  double then = 0;      // in the profile
  double now = 0;       // median now, without time that other processes took from the core, if that is known
  double computed = 0;  // mean of the same
  double passed = 0;    // mean of the elapsed time
};
struct PaceProbe {
  Nanos at = 0;
  std::vector<LaunchAgain> launches;  // empty: only waiting was measured
  double waiting = 0;  // elapsed time / core time of a thread that computes all the time, at least 1; 0: unknown
};
// Times the launches. Each runs equally often, so that a disturbance of one run in ten is not missed. Launches that the
// target refuses are left out.
PaceProbe ProbePace(std::span<const PacedLaunch> launches, BenchTarget& target, Nanos at);

// The factors on the profile's times at the moment `at`.
//
// If waiting is known, a factor is core time / profile time, multiplied by the waiting, which is linear between probes.
// Otherwise it is elapsed time / profile time. Times are sums over launches, so that long launches count as in a step.
// The factor at a probe is the median over the probe and its two neighbours with launches, because a single disturbed
// probe says nothing about the steps around it. Between probes it is linear. A group without launches takes the other
// group's factor. Without probes factors are 1. REQUIRES: probes in order of time.
KernelPace PaceAt(std::span<const PaceProbe> probes, Nanos at);

// Checks the pace found before with the probes of the case. For a group with six or more launches, sets `meanwhile` and
// its interval from each launch's median over the probes. A factor stays applied only if that interval lies on the same
// side of 1, and `meanwhile` is nearer to the factor than to 1 (as ratios).
void CheckPace(std::span<const PaceProbe> probes, MeasuredPace& pace);

// The step time in nanoseconds under `costs`, with kernels at `pace`. REQUIRES: `costs` are at the profile's own pace.
Nanos StepTimeAt(const Program& program, const CostModel& costs, const KernelPace& pace, const Runtime& runtime,
                 Bytes capacity);

// Sets tracked and tracked_error of a measured row. REQUIRES: `costs` as above; the row has a moment for each round.
void PredictTracked(const Program& program, const CostModel& costs, const Runtime& runtime, Bytes capacity,
                    std::span<const PaceProbe> probes, ValidationRow& row);

// MachineNoise::rounds over the measured rows; -1: no row has two rounds.
double RoundsDiffer(std::span<const ValidationRow> rows);
// MachineNoise::launches: the median over launches of (largest - smallest elapsed time) / median; -1: fewer than two
// probes.
double LaunchesDiffer(std::span<const PaceProbe> probes);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_TRACK_H_
