// Which layers a network's file freezes by name.
#ifndef SPILLWAY_MODEL_NETWORK_FROZEN_LAYERS_H_
#define SPILLWAY_MODEL_NETWORK_FROZEN_LAYERS_H_

#include <string>

#include "hw/text/document.h"
#include "model/network/network.h"

namespace spillway {

// Freezes the layers with parameters that the list names; `*` in a name stands for any letters, or none. Reports a name
// that no such layer has, with the nearest. `names`: the value of `frozen:`, a list of texts.
void FreezeLayers(const Node& names, Diagnostics& diagnostics, Network& network);

// `*` in the pattern stands for any letters, or none.
bool MatchesPattern(const std::string& pattern, const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_FROZEN_LAYERS_H_
