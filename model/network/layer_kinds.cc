#include <algorithm>

#include "hw/text/lists.h"
#include "model/network/layer_kind.h"

namespace spillway {

const std::vector<const LayerKind*>& LayerKinds() {
#define LAYER_KIND(KIND) &KIND,
  static const std::vector<const LayerKind*> table = {
#include "model/layers/table.inc"
  };
#undef LAYER_KIND
  return table;
}

const LayerKind* FindLayerKind(const std::string& name) {
  const auto& kinds = LayerKinds();
  const auto at =
      std::find_if(kinds.begin(), kinds.end(), [&name](const LayerKind* kind) { return name == kind->name; });
  return at == kinds.end() ? nullptr : *at;
}

const LayerKind& LayerKindByName(const std::string& name) {
  if (const LayerKind* kind = FindLayerKind(name)) return *kind;
  throw UserError("unknown layer kind '" + name + "'" + DidYouMean(name, NamesOf(LayerKinds())));
}

std::vector<ParameterShape> LayerParameters(const Network& network, const Layer& layer) {
  if (layer.kind->parameters == nullptr) return {};
  std::vector<ParameterShape> own = layer.kind->parameters(layer.attributes, network.InputShape(layer, 0));
  if (layer.tied != kNotTied) own.erase(own.begin());
  return own;
}

}  // namespace spillway
