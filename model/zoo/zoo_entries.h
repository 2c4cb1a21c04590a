// The builders behind the table in zoo.cc, one file per family.
#ifndef SPILLWAY_MODEL_ZOO_ZOO_ENTRIES_H_
#define SPILLWAY_MODEL_ZOO_ZOO_ENTRIES_H_

#include <string>

#include "model/network/network.h"

namespace spillway {

// The input of a 2-D network: options with the network's usual size filled in.
Shape ImageInput(const ZooOptions& options, std::int64_t usual_size);
std::int64_t ClassesOr(const ZooOptions& options, std::int64_t usual);

Network BuildAlexNet(const ZooOptions& options);
Network BuildOverFeat(const ZooOptions& options);
Network BuildGoogLeNet(const ZooOptions& options);
Network BuildGoogLeNetBn(const ZooOptions& options);
Network BuildInceptionV4(const ZooOptions& options);
Network BuildDenseNet121(const ZooOptions& options);
// `depth` = convolutions and linear layers; 16 + 5k puts k more convolutions into each of VGG-16's five groups.
Network BuildVgg(int depth, const ZooOptions& options);
// `depth`: 18 or 34 (basic blocks), else 3n + 2 with n >= 8 bottleneck blocks.
Network BuildResNet(int depth, const ZooOptions& options);
Network BuildResNext101Pooch(const ZooOptions& options);
Network BuildResNext101(const ZooOptions& options);
Network BuildCifarResNet20(const ZooOptions& options);
Network BuildCifarVgg(const ZooOptions& options);
Network BuildCifarAlexNet(const ZooOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_ZOO_ZOO_ENTRIES_H_
