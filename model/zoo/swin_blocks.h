// Blocks of transformers with shifted windows (Liu et al. 2021, arXiv 2103.14030), in two dimensions or three.
#ifndef SPILLWAY_MODEL_ZOO_SWIN_BLOCKS_H_
#define SPILLWAY_MODEL_ZOO_SWIN_BLOCKS_H_

#include <array>
#include <cstdint>
#include <string>

#include "model/zoo/network_builder.h"

namespace spillway {

struct SwinStage {
  std::int64_t channels = 0, heads = 1;
  std::array<std::int64_t, 3> image{1, 1, 1};   // depth, height, width
  std::array<std::int64_t, 3> window{1, 1, 1};  // as large where the image is larger
  // MONAI's windows are no larger than the image; torchvision pads the image to the window's size.
  bool clips = false;
};

// `shifted`: every other block's windows lie half a window further, but along axes that one window covers. `dropped`: rate
// at which each of the block's two branches leaves samples out.
LayerId AddSwinBlock(NetworkBuilder& b, const std::string& name, const SwinStage& stage, bool shifted, double dropped,
                     LayerId x);

// The places of blocks of two as channels, normalised, to twice the channels. The channels stand in another order than in
// public code, which permutes the parameters alone. Halves `stage`'s image, rounded up, and doubles its channels.
LayerId AddPatchMerging(NetworkBuilder& b, const std::string& name, SwinStage& stage, LayerId x);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_ZOO_SWIN_BLOCKS_H_
