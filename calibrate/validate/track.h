// The pace of a device followed while steps are measured.
//
// What was timed before anything ran says nothing about the minute in which a step ran. So some of the launches that the
// pace comes from are timed again between rounds: at each such moment, how long they take as time passes, whatever takes
// their core away meanwhile, against the profile. A step is held to a prediction at the pace of its own moment, which lies
// between those before and behind it. (In these factors is, too, that the profile's fastest algorithm was in part the
// luckiest: a percent or two.)
//
// Launches of a millisecond tell how fast a core computes, not how long one waits for it: others take it for several
// milliseconds at a time. Where the target tells how long a thread that computes on waits (BenchTarget::Waiting), that
// share is laid on what the launches had of their core; elsewhere the time that passed for them counts. It takes a tenth
// of a second, so it is asked right before and behind each session of steps, too: who wants the core changes within a
// round, which how fast the core is hardly does.
//
// All of that is taken while no step runs. No step's time enters what a step is held to.
//
// Copies and what issuing costs stay as they are predicted: the link was measured before, and its rate is mostly stated.
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

// Of each group, at most: those of a step that take longest. A few more than an interval of their ratios needs.
constexpr std::size_t kTrackedLaunches = 8;
std::vector<PacedLaunch> TrackedLaunches(const std::vector<PacedLaunch>& timed);

// A launch timed again: nanoseconds.
struct LaunchAgain {
  std::size_t index = 0;  // of those to be timed
  bool product = false;
  double then = 0;      // by the profile
  double now = 0;       // median without what others took of the core, where that is told
  double computed = 0;  // the same as a mean
  double passed = 0;    // with it, mean
};
struct PaceProbe {
  Nanos at = 0;
  std::vector<LaunchAgain> launches;  // none: only the waiting was looked at
  double waiting = 0;  // time that passed over what a thread that computed on had of its core; 0: not told
};
// Each launch as often as any other: what disturbs one in ten is not to be missed. What the target refuses is left out.
PaceProbe ProbePace(std::span<const PacedLaunch> launches, BenchTarget& target, Nanos at);

// Factors on the profile's times at that moment. Where waiting is told: of the time that launches had of their core,
// times the waiting, which is linear between two probes that tell it. Elsewhere: of the time that passed. Factors of
// launches are of sums, so that the long ones count as in a step; at a probe the median of it and its two neighbours that
// have launches, since one that was disturbed alone says nothing of the steps around it; between probes linear. A group
// of which nothing was timed goes as the other one; 1 without probes. REQUIRES: probes in order of time.
KernelPace PaceAt(std::span<const PaceProbe> probes, Nanos at);

// What launches took while steps ran, against the profile, median over the probes of each: fills `meanwhile` and its
// interval where there are six or more launches, and leaves applied only what lies on the same side of 1 there, too, and
// is nearer to what was found there than 1 is (as ratios). A launch counts in each probe that timed it.
void CheckPace(std::span<const PaceProbe> probes, MeasuredPace& pace);

// The step under `costs`, kernels at `pace` in place of theirs. REQUIRES: `costs` are at the profile's own pace.
Nanos StepTimeAt(const Program& program, const CostModel& costs, const KernelPace& pace, const Runtime& runtime,
                 Bytes capacity);

// Sets tracked and tracked_error of a measured row. Likewise, and it has a moment for each round.
void PredictTracked(const Program& program, const CostModel& costs, const Runtime& runtime, Bytes capacity,
                    std::span<const PaceProbe> probes, ValidationRow& row);

// MachineNoise::rounds, of the measured rows; -1: none has two rounds.
double RoundsDiffer(std::span<const ValidationRow> rows);
// MachineNoise::launches: median over launches of largest - smallest time that passed, over its median; -1: fewer than two
// probes.
double LaunchesDiffer(std::span<const PaceProbe> probes);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_TRACK_H_
