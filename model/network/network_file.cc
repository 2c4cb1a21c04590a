// Networks in YAML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "hw/text/file_kind.h"
#include "hw/text/lists.h"
#include "model/network/frozen_layers.h"
#include "model/network/layer_kind.h"
#include "model/network/network.h"
#include "model/network/network_keys.h"
#include "model/network/optimizer.h"
#include "model/network/precision.h"

namespace spillway {
namespace {

constexpr std::size_t kMaxLayers = 100000;
constexpr const char* kRecorded = "recorded as a step, `network: {graph: ...}` of a scenario";

const LayerKind* KindOf(const Node& layer) {
  const Node* kind = layer.IsMap() ? layer.Find("kind") : nullptr;
  return kind != nullptr ? FindLayerKind(kind->scalar) : nullptr;
}

class NetworkReader {
 public:
  NetworkReader(Diagnostics& diagnostics, std::int64_t batch) : diagnostics_(&diagnostics) { network_.input.n = batch; }

  Network Read(const Node& node) {
    MapReader reader(node, *diagnostics_, "network", NetworkKeys());
    network_.name = reader.RequiredString("name");
    if (const Node* input = reader.Required("input")) ReadInput(*input);
    const int optimizer = reader.ChoiceOr("optimizer", NamesOf(OptimizerTable()), -1);
    if (optimizer >= 0) network_.optimizer = &OptimizerTable()[static_cast<std::size_t>(optimizer)];
    const int precision = reader.ChoiceOr("precision", NamesOf(PrecisionTable()), -1);
    network_.clips_gradients = reader.BoolOr("clip_gradients", false);
    const bool freezes = !reader.StringsOrNone("frozen").empty();
    const Node* layers = reader.Required("layers");
    reader.Finish();
    if (layers != nullptr && CheckList(*layers)) ReadLayers(*layers);
    if (freezes) FreezeLayers(*node.Find("frozen"), *diagnostics_, network_);
    // Shapes of a network that was misread would only give follow-up complaints.
    if (sound_ && diagnostics_->empty()) {
      for (const NetworkProblem& problem : OrderAndInferShapes(network_)) {
        diagnostics_->Error(problem.mark.line > 0 ? problem.mark : node.mark, problem.message);
      }
      const bool right = diagnostics_->empty();
      if (right && precision >= 0) ApplyPrecision(network_, PrecisionTable()[static_cast<std::size_t>(precision)]);
    }
    return std::move(network_);
  }

 private:
  void Error(Mark mark, const std::string& message) {
    sound_ = false;
    diagnostics_->Error(mark, message);
  }

  void ReadInput(const Node& node) {
    MapReader r(node, *diagnostics_, "input", InputKeys());
    if (!node.IsMap()) return;
    Shape& input = network_.input;
    if (r.Optional("tokens") != nullptr) {
      ReadTokens(r);
      r.Finish();
      return;
    }
    if (const Node* rows = r.Optional("rows")) Error(rows->mark, "'rows' are of tokens: give 'tokens' too");
    input.c = r.IntegerOr("channels", 3, 1, kMaxChannels);
    const bool square = r.Optional("image") != nullptr;
    if (square) {
      input.h = input.w = r.IntegerOr("image", 1, 1, kMaxExtent);
      for (const char* key : {"height", "width"}) {
        if (const Node* other = r.Optional(key)) {
          Error(other->mark, std::string("'") + key + "' besides 'image': give either the one or height and width");
        }
      }
    } else if (r.Optional("height") == nullptr && r.Optional("width") == nullptr) {
      Error(r.mark(), "input: give 'image' (height and width alike) or 'height' and 'width'");
    } else if (r.Optional("height") == nullptr || r.Optional("width") == nullptr) {
      const bool width = r.Optional("width") != nullptr;
      Error(r.MarkOf(width ? "width" : "height"),
            fmt::format("'{}' without '{}' in input: give both, or 'image' where they are alike",
                        width ? "width" : "height", width ? "height" : "width"));
    } else {
      input.h = r.RequiredInteger("height", 1, kMaxExtent);
      input.w = r.RequiredInteger("width", 1, kMaxExtent);
    }
    has_depth_ = r.Optional("depth") != nullptr;
    input.d = r.IntegerOr("depth", 1, 1, kMaxExtent);
    r.Finish();
  }

  void ReadTokens(MapReader& r) {
    network_.tokens = true;
    network_.input.w = r.RequiredInteger("tokens", 1, kMaxExtent);
    network_.input.c = r.IntegerOr("rows", 1, 1, kMaxTokenRows);
    for (const char* key : {"channels", "image", "height", "width", "depth"}) {
      if (const Node* other = r.Optional(key)) {
        Error(other->mark, std::string("'") + key + "' besides 'tokens': an input is an image or tokens");
      }
    }
  }

  bool CheckList(const Node& layers) {
    if (!layers.IsSequence() || layers.items.empty()) {
      Error(layers.mark, "layers: expected a list of layers");
    } else if (layers.items.size() > kMaxLayers) {
      Error(layers.mark, "layers: more than " + std::to_string(kMaxLayers) + " layers");
    }
    return sound_;
  }

  // Names first: a layer may read one that is listed after it.
  void ReadLayers(const Node& layers) {
    for (std::size_t i = 0; i < layers.items.size(); ++i) CollectName(layers.items[i], static_cast<LayerId>(i));
    for (const Node& node : layers.items) network_.layers.push_back(ReadLayer(node));
  }

  void CollectName(const Node& node, LayerId id) {
    const Node* name = node.IsMap() ? node.Find("name") : nullptr;
    if (name == nullptr || !name->IsScalar()) return;  // ReadLayer complains
    if (const std::string problem = LayerNameProblem(name->scalar); !problem.empty()) Error(name->mark, problem);
    const auto [at, fresh] = ids_.emplace(name->scalar, id);
    if (fresh) {
      names_.push_back(name->scalar);
    } else {
      Error(name->mark, "layer '" + name->scalar + "' is listed twice");
    }
  }

  Layer ReadLayer(const Node& node) {
    Layer layer;
    layer.mark = node.mark;
    const Node* name = node.IsMap() ? node.Find("name") : nullptr;
    const bool named = name != nullptr && name->IsScalar();
    layer.kind = KindOf(node);
    MapReader reader(node, *diagnostics_, named ? "layer '" + name->scalar + "'" : "layer",
                     layer.kind != nullptr ? LayerKindKeys(*layer.kind) : LayerKeys());
    layer.name = reader.RequiredString("name");
    const Node* kind = reader.Required("kind");
    if (kind != nullptr && layer.kind == nullptr) ReportKind(*kind);
    layer.inputs = ReadInputs(reader, layer);
    if (layer.kind == nullptr) {
      sound_ = false;
      return layer;  // which other keys are right depends on the kind
    }
    ReadAttributes(reader, *diagnostics_, *layer.kind, has_depth_, layer.attributes);
    if ((layer.kind->keys & kTiedKey) != 0) layer.tied = ReadTied(node);
    if (!HasOtherKeys(node, layer)) reader.Finish();
    return layer;
  }

  // Keys that no layer of the kind has, with all that it has, and where to turn with others.
  bool HasOtherKeys(const Node& node, const Layer& layer) {
    std::vector<std::string> names;
    for (const KeyTable* table = &LayerKindKeys(*layer.kind); table != nullptr; table = table->also) {
      std::vector<std::string> more = NamesOf(table->keys);
      names.insert(names.begin(), more.begin(), more.end());
    }
    bool others = false;
    for (const Node::Entry& entry : node.entries) {
      if (Contains(names, entry.key)) continue;
      others = true;
      Error(entry.mark,
            fmt::format("unknown key '{}' in layer '{}'{} (one of {}; a network with others is {})", entry.key,
                        layer.name, DidYouMean(entry.key, names), fmt::join(names, ", "), kRecorded));
    }
    return others;
  }

  void ReportKind(const Node& node) {
    const std::vector<std::string> names = NamesOf(LayerKinds());
    Error(node.mark,
          fmt::format("unknown layer kind '{}'{} (`spillway list layers` has all; a network with others is {})",
                      node.scalar, DidYouMean(node.scalar, names), kRecorded));
  }

  std::vector<LayerId> ReadInputs(MapReader& reader, const Layer& layer) {
    const Node* from = reader.Optional("from");
    const bool reads = layer.kind == nullptr || layer.kind->max_inputs > 0;
    if (from == nullptr && !reads) return {};
    if (from == nullptr) {  // the previous layer or the input
      if (layer.kind != nullptr) MustFollowNoInput(reader.mark(), layer.name);
      return {static_cast<LayerId>(network_.layers.size()) - 1};
    }
    std::vector<LayerId> inputs;
    if (from->IsScalar()) {
      inputs.push_back(FindInput(*from));
    } else if (from->IsSequence()) {
      for (const Node& item : from->items) inputs.push_back(FindInput(item));
    } else {
      Error(from->mark, "from: expected the name of a layer or a list of names");
    }
    return inputs;
  }

  // What stands behind a further input may mean that one, or what stands in front of it.
  void MustFollowNoInput(Mark mark, const std::string& name) {
    if (network_.layers.empty()) return;
    const Layer& before = network_.layers.back();
    if (before.kind == nullptr || before.kind->max_inputs > 0) return;
    Error(mark, fmt::format("layer '{}' stands right behind '{}', an input: give `from`, the layers that it reads",
                            name, before.name));
  }

  LayerId ReadTied(const Node& layer) {
    const Node* tied = layer.Find("tied");
    if (tied == nullptr) return kNotTied;
    if (tied->scalar == "input") Error(tied->mark, "tied: expected the name of a layer that has a weight");
    const LayerId owner = FindInput(*tied);
    return owner == kNetworkInput ? kNotTied : owner;
  }

  LayerId FindInput(const Node& node) {
    if (node.scalar == "input") return kNetworkInput;
    if (const auto at = ids_.find(node.scalar); at != ids_.end()) return at->second;
    std::vector<std::string> candidates = names_;
    candidates.emplace_back("input");
    Error(node.mark, "no layer is named '" + node.scalar + "'" + DidYouMean(node.scalar, candidates));
    return kNetworkInput;
  }

  Diagnostics* diagnostics_;
  Network network_;
  bool sound_ = true;  // nothing wrong so far that shape inference would stumble over
  bool has_depth_ = false;
  std::map<std::string, LayerId> ids_;
  std::vector<std::string> names_;  // in file order
};

}  // namespace

const KeyTable& InputKeys() {
  static const KeyTable kTable{
      .title = "input",
      .keys = {{"channels", WholeNumberFrom(1, kMaxChannels), "3", "of the image"},
               {"image", WholeNumberFrom(1, kMaxExtent), "height and width", "height and width alike"},
               {"height", WholeNumberFrom(1, kMaxExtent), "required, unless `image` is given", "in pixels"},
               {"width", WholeNumberFrom(1, kMaxExtent), "required, unless `image` is given", "in pixels"},
               {"depth", WholeNumberFrom(1, kMaxExtent), "1", "frames of a 3-D network"},
               {"tokens", WholeNumberFrom(1, kMaxExtent), "none", "positions of a text, in place of an image"},
               {"rows", WholeNumberFrom(1, kMaxTokenRows), "1", "numbers at each position, which embeddings read"}},
      .note = "One sample. The batch is not part of a network."};
  return kTable;
}

Network ReadNetwork(const Node& node, Diagnostics& diagnostics, std::int64_t batch) {
  return NetworkReader(diagnostics, batch).Read(node);
}

Network LoadNetwork(const std::string& path, std::int64_t batch) {
  const Document document = LoadDocument(path);
  MustBeOfKind(FileKind::kNetwork, document);
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, batch);
  diagnostics.ThrowIfAny();
  return network;
}

}  // namespace spillway
