// What the kernels and copies of one step took while it ran, as samples, and a machine that answers with them.
//
// So PoocH plans (Ito et al., arXiv 1907.05013, section 4.1): it runs an iteration that swaps everything, and classifies
// maps by the times of that run, contended copies and all, in place of a model's. `spillway validate --out` writes one
// such file for each plan that it measured; `--costs FILE` plans by it.
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

// Where the samples are said to come from.
struct StepOrigin {
  std::string device;   // Device::name
  std::string network;  // "cifar-resnet20 at batch 32"
  std::string note;     // "swap-all, 28 MB"
};
// Of one Program and its measured steps. Launches that a samples file cannot state (padding on one side of an axis, as
// tiles of rows have) are left out: the model answers for these. REQUIRES: timelines of that Program, spans of every
// kernel and copy.
// `costs`: say what workspace an algorithm takes.
std::vector<Sample> SamplesOfStep(const Program& program, std::span<const Timeline> timelines, const CostModel& costs,
                                  const StepOrigin& origin);

// The machine with its first device's launches and its nearest link's copies as `set` has them. Launches that were not
// seen are answered as before; of those seen other algorithms are no longer known, since what was timed decides. A
// copy takes the time of its size, linear between sizes; outside of them it takes the profile's time, scaled as the nearest
// size is. What a launch or a size was measured with several times is its median.
// Throws UserError with the file: samples of another device, or none of a kernel or copy.
Machine WithStepCosts(Machine machine, const SampleSet& set);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_STEP_COSTS_H_
