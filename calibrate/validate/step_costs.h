// Step costs: the times of kernels and copies measured in one running step, as samples, and a machine that uses them as
// costs.
//
// PoocH plans in this way (Ito et al., arXiv 1907.05013, section 4.1). It runs an iteration that swaps everything, and
// classifies maps by the times of that run, with contended copies, in place of a model's times. `spillway validate
// --out` writes one such file for each plan that it measured; `--costs FILE` plans with it.
//
//   samples file (model/samples/sample.h)
//     kernels   one row per distinct launch, the median over where and how often it ran; kind "step"
//     copies    one row per direction and size, likewise; kind "pinned", contention "step"
//
// Tested by step_costs_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_STEP_COSTS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_STEP_COSTS_H_

#include <span>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/samples/file.h"
#include "sim/engine/timeline.h"
#include "sim/program/program.h"

namespace spillway {

// The origin that the samples state.
struct StepOrigin {
  std::string device;   // Device::name
  std::string network;  // "cifar-resnet20 at batch 32"
  std::string note;     // "swap-all, 28 MB"
};
// The samples of one Program and its measured steps. Launches that a samples file cannot express (padding on one side
// of an axis, as tiles of rows have) are left out; for these the model is used later. `costs` supplies the workspaces
// of algorithms. REQUIRES: timelines of that Program with spans of every kernel and copy.
std::vector<Sample> SamplesOfStep(const Program& program, std::span<const Timeline> timelines, const CostModel& costs,
                                  const StepOrigin& origin);

// The machine with the times of `set` for its first device's launches and its nearest link's copies.
//
// Launches without samples keep their costs. A launch with samples keeps only the algorithms that were timed. The time
// of a copy is linear between the sizes measured; outside of them it is the profile's time, scaled like the nearest
// size. Several samples of a launch or size count as their median. Throws UserError, naming the file, if samples are of
// another device or if there are none of kernels or of copies.
Machine WithStepCosts(Machine machine, const SampleSet& set);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_STEP_COSTS_H_
