// Small chains of layers whose launches cover the shapes that convolutional networks have: windows of 1, 3, 5, 7 and
// 11, strides 1 and 2, few and many channels, small and large images, batches from 8 to 96, and every other kind of
// layer between them. What models are fitted to, so that they hold for a network that nobody measured.
#ifndef SPILLWAY_CALIBRATE_MEASURE_GRID_H_
#define SPILLWAY_CALIBRATE_MEASURE_GRID_H_

#include "calibrate/measure/plan.h"

namespace spillway {

// In the order in which they should be measured: each adds what those before it lack most.
std::vector<std::shared_ptr<const BenchNetwork>> BenchGrid();

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_GRID_H_
