// The grid of a GPU's calibration: launches for networks that nobody named, the most valuable first.
//
//   zoo           every network of the zoo (model/network/network.h) at a usual batch, those that are validated first; then all
//                 at a second and a third one
//   deepbench     convolutions, then matrix products of DeepBench's lists for training
//   wide window   what neither has
//   zoo           again, at batches that published results are for and that take long
//
// What networks share is measured once: the plan (calibrate/measure/plan.h) drops launches that it has already. Not each
// of these networks fits a GPU, but the operands of a launch take 20 GB at most; a smaller GPU leaves out what does not
// fit, and lists it.
#ifndef SPILLWAY_CALIBRATE_MEASURE_CUDA_GRID_H_
#define SPILLWAY_CALIBRATE_MEASURE_CUDA_GRID_H_

#include <memory>
#include <vector>

#include "calibrate/measure/plan.h"

namespace spillway {

// Built in tens of milliseconds. Networks of the zoo carry its names, the others "deepbench" and "grid".
std::vector<std::shared_ptr<const BenchNetwork>> CudaBenchGrid();

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_CUDA_GRID_H_
