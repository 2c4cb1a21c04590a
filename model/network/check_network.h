// What can be wrong with a network, found all at once: shared by InferShapes and the reader of network files.
#ifndef SPILLWAY_MODEL_NETWORK_CHECK_NETWORK_H_
#define SPILLWAY_MODEL_NETWORK_CHECK_NETWORK_H_

#include <string>
#include <vector>

#include "model/network/network.h"

namespace spillway {

struct NetworkProblem {
  std::string message;  // names the layer
  Mark mark;            // of the layer
};

// Orders the layers and fills in their shapes; returns what is wrong, nothing if all is well. With problems the
// network is left in an unspecified state. REQUIRES: kinds set, inputs valid layer ids, layer names distinct.
std::vector<NetworkProblem> OrderAndInferShapes(Network& network);

// A usable layer name: not empty, not "input", no ':' (which separates layer and tensor), no white space. Returns what
// is wrong or "".
std::string LayerNameProblem(const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_CHECK_NETWORK_H_
