// Blocks of networks whose maps become smaller or larger in a row: all layers with maps of about one size are a block.
//
// A layer is never divided, and what it makes within itself, such as attention's scores, has no say. Nor have
//   - layers that only further inputs lead to, as what a text or a noise level goes through,
//   - single numbers of each channel beside maps, as a gate computes from them,
//   - casts and losses.
// Windows of an image count as the image. What has no say is in the block of the layer in front of it.
//
// Tested by checkpoint_blocks_test (tests/sim/).
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_BLOCKS_BY_SIZE_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_BLOCKS_BY_SIZE_H_

#include "sim/strategies/shared/network_blocks.h"

namespace spillway {

// REQUIRES: the step is of a network, no recording.
Blocks BlocksBySize(const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_BLOCKS_BY_SIZE_H_
