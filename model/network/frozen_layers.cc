#include "model/network/frozen_layers.h"

#include <cstddef>
#include <vector>

#include "model/network/layer_kind.h"

namespace spillway {

// Goes back to the last star alone: what an earlier one took too little, a later one takes as well.
bool MatchesPattern(const std::string& pattern, const std::string& name) {
  std::size_t p = 0, n = 0, star = std::string::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void FreezeLayers(const Node& names, Diagnostics& diagnostics, Network& network) {
  std::vector<std::string> known;
  for (const Layer& layer : network.layers) {
    if (layer.kind != nullptr && (layer.kind->keys & kFrozenKey) != 0) known.push_back(layer.name);
  }
  for (const Node& item : names.items) {
    bool found = false;
    for (Layer& layer : network.layers) {
      if (layer.kind == nullptr || (layer.kind->keys & kFrozenKey) == 0) continue;
      if (!MatchesPattern(item.scalar, layer.name)) continue;
      layer.attributes.frozen = found = true;
    }
    if (found) continue;
    diagnostics.Error(
        item.mark, "frozen: no layer with parameters is named '" + item.scalar + "'" + DidYouMean(item.scalar, known));
  }
}

}  // namespace spillway
