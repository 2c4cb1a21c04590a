// What the networks for small devices and their kin share: channels rounded to a multiple, convolutions with batch norm
// and any activation, squeeze and excitation. Names and orders of layers follow torchvision's public definitions.
#ifndef SPILLWAY_MODEL_ZOO_SQUEEZE_BLOCKS_H_
#define SPILLWAY_MODEL_ZOO_SQUEEZE_BLOCKS_H_

#include <string>

#include "model/zoo/network_builder.h"

namespace spillway {

// The multiple of 8 next to `channels`, at least 8 and never less than nine tenths of `channels` (MobileNetV2's public code).
std::int64_t RoundedChannels(double channels);

// A square convolution that keeps the image at stride 1, `groups` of them side by side.
LayerAttributes Keeping(std::int64_t out_channels, std::int64_t window, std::int64_t stride = 1,
                        std::int64_t groups = 1);

// `name`, `name`_bn and `name`_act: a convolution without bias, batch norm and, unless nullptr, a layer of kind
// `activation`. Returns the last.
LayerId NormAct(NetworkBuilder& b, const std::string& name, LayerId from, const LayerAttributes& attributes,
                const char* activation);

// Squeeze and excitation (Hu et al. 2018, arXiv 1709.01507): `from`, weighted plane by plane.
struct Squeeze {
  std::int64_t channels = 0;  // of `from`
  std::int64_t squeezed = 0;
  const char* activation = "relu";
  const char* gate = "sigmoid";
};
LayerId SqueezeAndExcite(NetworkBuilder& b, const std::string& name, LayerId from, const Squeeze& squeeze);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_ZOO_SQUEEZE_BLOCKS_H_
