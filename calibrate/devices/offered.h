// What a device answers when it is asked which algorithms it has for a convolution.
#ifndef SPILLWAY_CALIBRATE_DEVICES_OFFERED_H_
#define SPILLWAY_CALIBRATE_DEVICES_OFFERED_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "model/step/launch.h"

namespace spillway {

struct OfferedAlgorithm {
  std::int32_t algorithm = 0;  // as in Launch
  Bytes workspace = 0;         // what it needs
};
// All that a device offers for a convolution, those that it would take first in front. Algorithm and workspace of the
// launch do not matter. Throws UserError where the device cannot run the launch at all.
using AskDevice = std::function<std::vector<OfferedAlgorithm>(const Launch& launch)>;

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_OFFERED_H_
