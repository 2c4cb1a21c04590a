// The keys of recorded steps (hw/text/keys.h): `spillway help graph`.
#ifndef SPILLWAY_MODEL_RECORDED_GRAPH_KEYS_H_
#define SPILLWAY_MODEL_RECORDED_GRAPH_KEYS_H_

#include <string>
#include <vector>

#include "hw/text/keys.h"

namespace spillway {

const KeyTable& GraphKeys();
const KeyTable& GraphValueKeys();
const KeyTable& GraphNodeKeys();
const KeyTable& GraphWayKeys();
const KeyTable& GraphResultKeys();

const std::vector<std::string>& GraphPassNames();   // "forward", "backward", "update": in this order a step runs
const std::vector<std::string>& GraphPlaceNames();  // "device", "host"

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_GRAPH_KEYS_H_
