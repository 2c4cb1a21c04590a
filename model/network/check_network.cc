#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "model/network/layer_kind.h"
#include "model/network/network.h"
#include "model/network/network_keys.h"
#include "model/util/graph.h"

namespace spillway {
namespace {

class Checker {
 public:
  explicit Checker(Network& network) : network_(&network) {}

  std::vector<NetworkProblem> Run() {
    if (network_->layers.empty()) return {{"network '" + network_->name + "' has no layers", {}}};
    CheckShape(network_->input, "the network's input", {});
    CheckReaders();
    if (!Order()) return std::move(problems_);
    if (!InputIsRead()) problems_.push_back({"no layer reads the network's input: expected `from: input` of one", {}});
    InferAll();
    if (problems_.empty()) CheckTrains();
    return std::move(problems_);
  }

 private:
  static std::string NamesOfLosses() {
    std::string names;
    for (const LayerKind* kind : LayerKinds()) {
      if (kind->loss) names += (names.empty() ? "" : ", ") + std::string(kind->name);
    }
    return names;
  }
  static std::string Called(const Layer& layer) { return "layer '" + layer.name + "'"; }
  void Complain(const Layer& layer, const std::string& what) {
    problems_.push_back({Called(layer) + ": " + what, layer.mark});
  }

  bool CheckShape(const Shape& s, const std::string& whose, Mark mark) {
    const bool positive = std::min({s.n, s.c, s.d, s.h, s.w}) > 0;
    if (positive && ElementsAsGiven(s) <= kMaxElements) return true;
    problems_.push_back(
        {whose + " is " + ShapeText(s) + (positive ? ": too large" : ": sizes must be positive"), mark});
    return false;
  }

  // A layer whose shape alone is taken is not read: nothing would come back to it.
  std::vector<const Layer*> Readers() const {
    std::vector<const Layer*> readers(network_->layers.size(), nullptr);
    for (const Layer& layer : network_->layers) {
      for (std::size_t k = 0; k < std::min(layer.inputs.size(), layer.kind->data_inputs); ++k) {
        if (layer.inputs[k] != kNetworkInput) readers[static_cast<std::size_t>(layer.inputs[k])] = &layer;
      }
    }
    return readers;
  }

  bool InputIsRead() const {
    for (const Layer& layer : network_->layers) {
      const std::size_t data = std::min(layer.inputs.size(), layer.kind->data_inputs);
      for (std::size_t k = 0; k < data; ++k) {
        if (layer.inputs[k] == kNetworkInput) return true;
      }
    }
    return false;
  }

  void CheckReaders() {
    const std::vector<const Layer*> readers = Readers();
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const Layer& layer = network_->layers[i];
      if (layer.kind->loss && readers[i] != nullptr) {
        Complain(layer, "a loss ends a network, and layer '" + readers[i]->name + "' reads it");
      } else if (!layer.kind->loss && readers[i] == nullptr) {
        Complain(layer, std::string("no other layer reads it, and ") + layer.kind->name + " is no loss (" +
                            NamesOfLosses() + "): end the network with one");
      }
    }
  }

  bool Order() {
    InputLists inputs(network_->layers.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (const LayerId id : network_->layers[i].inputs) {
        if (id != kNetworkInput) inputs[i].push_back(static_cast<std::size_t>(id));
      }
      if (const LayerId owner = network_->layers[i].tied; owner != kNotTied) {
        inputs[i].push_back(static_cast<std::size_t>(owner));
      }
    }
    const TopologicalOrder found = OrderByInputs(inputs);
    if (!found.cycle.empty()) {
      ComplainOfCycle(found.cycle);
      return false;
    }
    Permute(found.order);
    return true;
  }

  void ComplainOfCycle(const std::vector<std::size_t>& cycle) {
    const Layer& first = network_->layers[cycle.front()];
    std::string path = first.name;
    for (std::size_t i = 1; i < cycle.size(); ++i) path += " <- " + network_->layers[cycle[i]].name;
    Complain(first, "is part of a cycle: " + path + " <- " + first.name);
  }

  void Permute(const std::vector<std::size_t>& order) {
    std::vector<LayerId> new_id(order.size());
    std::vector<Layer> layers;
    layers.reserve(order.size());
    for (const std::size_t old : order) {
      new_id[old] = static_cast<LayerId>(layers.size());
      layers.push_back(std::move(network_->layers[old]));
    }
    for (Layer& layer : layers) {
      for (LayerId& id : layer.inputs) {
        if (id != kNetworkInput) id = new_id[static_cast<std::size_t>(id)];
      }
      if (layer.tied != kNotTied) layer.tied = new_id[static_cast<std::size_t>(layer.tied)];
    }
    network_->layers = std::move(layers);
  }

  void InferAll() {
    known_.assign(network_->layers.size(), false);
    for (std::size_t i = 0; i < network_->layers.size(); ++i) known_[i] = Infer(network_->layers[i]);
  }

  // False if the shape stays unknown: a complaint was made here or at one of the inputs.
  bool Infer(Layer& layer) {
    const std::size_t count = layer.inputs.size();
    if (count < layer.kind->min_inputs || count > layer.kind->max_inputs) {
      Complain(layer, WrongInputCount(*layer.kind, count));
      return false;
    }
    std::vector<Shape> inputs;
    for (std::size_t k = 0; k < count; ++k) {
      const LayerId id = layer.inputs[k];
      if (id != kNetworkInput && !known_[static_cast<std::size_t>(id)]) return false;
      inputs.push_back(network_->InputShape(layer, k));
    }
    std::string problem;
    layer.shape = layer.kind->infer(layer.attributes, inputs, problem);
    if (count == 0) layer.shape.n = network_->input.n;
    if (problem.empty()) problem = TokensProblem(layer);
    if (problem.empty()) problem = TiedProblem(layer);
    if (problem.empty()) return CheckSizes(layer);
    std::string shapes;
    for (std::size_t k = 0; k < count; ++k) {
      const LayerId id = layer.inputs[k];
      const std::string name = id == kNetworkInput ? "input" : network_->layers[static_cast<std::size_t>(id)].name;
      shapes += (k == 0 ? "" : ", ") + (count > 1 ? name + " " : "") + ShapeText(inputs[k]);
    }
    Complain(layer, problem + " (input " + shapes.substr(0, 200) + ")");
    return false;
  }

  std::string TokensProblem(const Layer& layer) const {
    const bool reads = layer.kind->reads_tokens;
    for (const LayerId id : layer.inputs) {
      const bool tokens = id == kNetworkInput && network_->tokens;
      if (tokens && !reads)
        return std::string(layer.kind->name) + " takes no tokens; an embedding makes features of them";
      if (!tokens && reads) return std::string(layer.kind->name) + " reads the network's input, which must be `tokens`";
    }
    return "";
  }

  std::string TiedProblem(const Layer& layer) const {
    if (layer.tied == kNotTied) return "";
    const Layer& owner = network_->layers[static_cast<std::size_t>(layer.tied)];
    if (!known_[static_cast<std::size_t>(layer.tied)]) return "";
    const std::vector<ParameterShape> of_owner = LayerParameters(*network_, owner);
    if (of_owner.empty() || owner.tied != kNotTied || !owner.kind->shares_weight) {
      return "layer '" + owner.name + "' has no weight of its own to share (kind " + owner.kind->name + ")";
    }
    if (layer.attributes.frozen && !owner.attributes.frozen) {
      return "is frozen, and its weight is that of layer '" + owner.name + "', which is not: freeze both";
    }
    const Shape there = of_owner.front().shape;
    const Shape wanted = layer.kind->parameters(layer.attributes, network_->InputShape(layer, 0)).front().shape;
    if (wanted == there) return "";
    return "needs a weight of " + ShapeText(wanted) + ", and that of layer '" + owner.name + "' is " + ShapeText(there);
  }

  // Without frozen layers a network without parameters is as its author wanted it.
  void CheckTrains() {
    const Layer* frozen = nullptr;
    for (const Layer& layer : network_->layers) {
      if (LayerParameters(*network_, layer).empty()) continue;
      if (!layer.attributes.frozen) return;
      frozen = &layer;
    }
    if (frozen != nullptr) Complain(*frozen, "is frozen as all others with parameters are: a step would train nothing");
  }

  bool CheckSizes(const Layer& layer) {
    if (!CheckShape(layer.shape, "the result of " + Called(layer), layer.mark)) return false;
    for (const ParameterShape& p : LayerParameters(*network_, layer)) {
      if (!CheckShape(p.shape, "the " + std::string(p.name) + " of " + Called(layer), layer.mark)) return false;
    }
    return true;
  }

  static std::string WrongInputCount(const LayerKind& kind, std::size_t count) {
    const std::string expected = kind.min_inputs == kind.max_inputs
                                     ? std::to_string(kind.min_inputs)
                                     : std::to_string(kind.min_inputs) + " to " + std::to_string(kind.max_inputs);
    return std::string(kind.name) + " takes " + expected + (expected == "1" ? " input" : " inputs") + ", not " +
           std::to_string(count);
  }

  Network* network_;
  std::vector<NetworkProblem> problems_;
  std::vector<bool> known_;  // by layer
};

}  // namespace

std::vector<NetworkProblem> OrderAndInferShapes(Network& network) { return Checker(network).Run(); }

std::string LayerNameProblem(const std::string& name) {
  if (name.empty()) return "a layer needs a name";
  if (name == "input") return "'input' is the network's input and cannot name a layer";
  const bool bad =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c == ':' || std::isspace(c) != 0; });
  return bad ? "layer name '" + name + "' must not contain ':' or spaces" : "";
}

void InferShapes(Network& network) {
  std::vector<std::string> messages;
  std::set<std::string> names;
  for (const Layer& layer : network.layers) {
    if (const std::string problem = LayerNameProblem(layer.name); !problem.empty()) messages.push_back(problem);
    if (!names.insert(layer.name).second) messages.push_back("layer '" + layer.name + "' is listed twice");
  }
  for (NetworkProblem& problem : OrderAndInferShapes(network)) messages.push_back(std::move(problem.message));
  if (!messages.empty()) throw UserError(std::move(messages));
}

std::int64_t CountParameters(const Network& network) {
  std::int64_t count = 0;
  for (const Layer& layer : network.layers) {
    for (const ParameterShape& p : LayerParameters(network, layer)) count += p.shape.Elements();
  }
  return count;
}

}  // namespace spillway
