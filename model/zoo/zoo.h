// Networks by name. Each is one file beside this one and one line of table.inc.
#ifndef SPILLWAY_MODEL_ZOO_ZOO_H_
#define SPILLWAY_MODEL_ZOO_ZOO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/network/network.h"

namespace spillway {

struct ZooOptions {
  std::int64_t batch = 1;
  std::int64_t image = 0;    // height and width of the input, or tokens of a text; 0 = the network's usual size
  std::int64_t width = 0;    // where it differs from the height; 0 = square
  std::int64_t frames = 0;   // 3-D networks: depth of the input; 0 = usual
  std::int64_t classes = 0;  // 0 = usual
};
struct ZooEntry {
  const char* name;
  const char* description;
  const char* source;  // paper or public definition
  Network (*build)(const ZooOptions&);
};
const std::vector<ZooEntry>& Zoo();
// Builds a network of the zoo with shapes inferred. Four families take names beside those of the table:
//
//   resnet<depth>            depth 3n+2, n >= 8 bottleneck blocks, spread as in ResNet-152
//   vgg<depth>               depth 16+5k (vDNN)
//   nnunet-3d-<stages>       2 to 8 stages
//   swin-unetr-<features>    multiples of 12
//
// Throws UserError for an unknown name (nearest named), for a size that the network cannot take (sizes beside it named),
// and for frames or classes that the network does not have.
Network BuildZooNetwork(const std::string& name, const ZooOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_ZOO_ZOO_H_
