// The blocks of a network: the stretches of forward that its author repeats, as a framework's modules would have them.
//
// A network file names no blocks, so they are found by how its results are read:
//   - A cut is where one result alone goes on. The network's input and parameters do not count, nor does a memory: a
//     result that several stretches alike read beside the one in front of them, as the layers of a decoder do.
//   - A stretch between two cuts in which paths join is a block, or half of one. Halves of different kinds that repeat,
//     such as attention and feed-forward layers, make up one block.
//   - Where a stretch samples down and up again, or where no paths join, a block is all layers with maps of about one size
//     (blocks_by_size.h).
//
// Tested by checkpoint_blocks_test (tests/sim/).
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_NETWORK_BLOCKS_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_NETWORK_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "model/step/training_step.h"

namespace spillway {

struct Blocks {
  std::vector<std::int32_t> of{};  // by op of forward, ascending from 0; -1: in no block
  const char* rule = "";
  std::int32_t Count() const;
};

// REQUIRES: the step is of a network, no recording.
Blocks BlocksOfNetwork(const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_NETWORK_BLOCKS_H_
