// The keys of network files (hw/text/keys.h): `spillway help network`, `spillway list layers`.
#ifndef SPILLWAY_MODEL_NETWORK_NETWORK_KEYS_H_
#define SPILLWAY_MODEL_NETWORK_NETWORK_KEYS_H_

#include <string>
#include <vector>

#include "hw/text/keys.h"
#include "model/network/layer_kind.h"

namespace spillway {

const KeyTable& NetworkKeys();
const KeyTable& InputKeys();
const KeyTable& LayerKeys();                           // what every layer has
const KeyTable& LayerKindKeys(const LayerKind& kind);  // those and what layers of this kind have besides

// What a kind's layers have besides the keys of all layers; in network_file.cc, with how they are read, as InputKeys().
std::vector<KeyRow> AttributeKeys(const LayerKind& kind);

// "one layer", "2 to 64 layers".
std::string InputCountText(const LayerKind& kind);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_NETWORK_NETWORK_KEYS_H_
