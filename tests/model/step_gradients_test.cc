// Do the backward ops of a step compute the right gradients, whatever is shared, added up, copied or overwritten?
//
// Every layer's derivative with respect to each of its inputs is taken to be a number of its own (1 for add and
// concat, which have no freedom), and numbers are added and multiplied modulo a prime. The chain rule applied to the
// network gives every layer's gradient; playing the ops of the step one after the other on one number per tensor must
// give the same. A sum that misses a part, or a tensor overwritten too early, changes the number.
//
// At the same time the contents of forward tensors are followed: a backward op of a layer must find the results of that
// layer or of its inputs in what it reads, not those of a later layer that took the tensor.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "model/network/layer_kind.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

using Number = std::uint64_t;
constexpr Number kPrime = 1000000007;
constexpr LayerId kNobody = -2;

Number Derivative(const Network& network, LayerId layer) {
  const std::string kind = network.layers[static_cast<std::size_t>(layer)].kind->name;
  return kind == "add" || kind == "concat" ? 1 : 1000 + 7919 * static_cast<Number>(layer);
}

// By layer: the gradient of its result, by the chain rule.
std::vector<Number> ChainRule(const Network& network) {
  std::vector<Number> gradients(network.layers.size(), 0);
  for (LayerId id = static_cast<LayerId>(network.layers.size()) - 1; id >= 0; --id) {
    const auto at = static_cast<std::size_t>(id);
    const Layer& layer = network.layers[at];
    if (layer.kind->loss) gradients[at] = 1;
    for (std::size_t k = 0; k < std::min(layer.inputs.size(), layer.kind->data_inputs); ++k) {
      const LayerId input = layer.inputs[k];
      if (input == kNetworkInput) continue;
      Number& sum = gradients[static_cast<std::size_t>(input)];
      sum = (sum + Derivative(network, id) * gradients[at]) % kPrime;
    }
  }
  return gradients;
}

class Player {
 public:
  Player(const Network& network, const TrainingStep& step)
      : network_(network),
        step_(step),
        numbers_(step.tensors.size(), 0),
        holds_(step.tensors.size(), kNobody),
        written_(step.tensors.size(), false) {}

  // Numbers of the parameter gradients by layer, the first parameter of each.
  std::vector<Number> Play() {
    for (std::size_t i = 0; i < step_.tensors.size(); ++i) {
      const TensorClass use = step_.tensors[i].use;
      written_[i] = use == TensorClass::kInput || use == TensorClass::kParameter || use == TensorClass::kOptimizerState;
    }
    holds_[0] = kNetworkInput;
    for (const Op& op : step_.ops) {
      INFO(op.name);
      for (const TensorId id : op.reads) CHECK(written_[Index(id)]);
      if (op.pass == Pass::kForward) PlayForward(op);
      if (op.pass != Pass::kForward && op.pass != Pass::kUpdate) PlayBackward(op);
      for (const TensorId id : op.writes) written_[Index(id)] = true;
    }
    return results_;
  }

 private:
  static std::size_t Index(TensorId id) { return static_cast<std::size_t>(id); }
  TensorClass Use(TensorId id) const { return step_.tensors[Index(id)].use; }

  void PlayForward(const Op& op) {
    for (const TensorId id : op.writes) holds_[Index(id)] = op.layer;
  }

  void CheckContents(const Op& op) const {
    const std::vector<LayerId>& inputs = network_.layers[Index(op.layer)].inputs;
    for (const TensorId id : op.reads) {
      const LayerId content = holds_[Index(id)];
      if (content == kNobody) continue;
      CHECK((content == op.layer || std::find(inputs.begin(), inputs.end(), content) != inputs.end()));
    }
  }

  void PlayBackward(const Op& op) {
    CheckContents(op);
    std::vector<TensorId> gradients;
    for (const TensorId id : op.reads) {
      if (Use(id) == TensorClass::kGradient) gradients.push_back(id);
    }
    if (op.accumulate) CHECK(std::find(op.reads.begin(), op.reads.end(), op.writes[0]) != op.reads.end());
    const bool sum = op.kind == OpKind::kAdd;
    Number value = TraitsOf(op.kind).labels ? 1 : 0;
    if (sum) {
      for (const TensorId id : gradients) value = (value + numbers_[Index(id)]) % kPrime;
      if (gradients.size() == 1) value = 2 * value % kPrime;  // of a tensor with itself
    } else if (!gradients.empty()) {
      // Accumulating ops read the incoming gradient first and their destination last; these must differ.
      if (op.accumulate) CHECK(gradients.size() == 2);
      value = numbers_[Index(gradients[0])];
    }
    if (!sum && op.kind != OpKind::kCopy) value = value * Derivative(network_, op.layer) % kPrime;
    for (std::size_t k = 0; k < op.writes.size(); ++k) {
      const std::size_t to = Index(op.writes[k]);
      const bool adds = op.accumulate && k == 0 && !sum;
      numbers_[to] = adds ? (numbers_[to] + value) % kPrime : value;
      if (Use(op.writes[k]) == TensorClass::kParameterGradient) {
        results_.resize(network_.layers.size(), 0);
        results_[Index(op.layer)] = value;
      }
    }
  }

  const Network& network_;
  const TrainingStep& step_;
  std::vector<Number> numbers_;  // by tensor
  std::vector<LayerId> holds_;   // by tensor: the layer whose result it holds
  std::vector<bool> written_;    // by tensor
  std::vector<Number> results_;  // by layer
};

void CheckGradients(const Network& network, const StepOptions& options) {
  const TrainingStep step = BuildTrainingStep(network, options);
  const std::vector<Number> expected = ChainRule(network);
  const std::vector<Number> found = Player(network, step).Play();
  std::size_t checked = 0;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    if (network.layers[i].kind->parameters == nullptr) continue;
    INFO(network.layers[i].name);
    // Times the derivative of the loss, which the first backward op puts in front of everything.
    CHECK(found[i] == expected[i] * Derivative(network, static_cast<LayerId>(i)) % kPrime);
    ++checked;
  }
  CHECK(checked > 0);
}

void CheckForm(const TrainingStep& step) {
  std::set<std::string> tensors, ops;
  for (const Tensor& t : step.tensors) CHECK(tensors.insert(t.name).second);
  for (const Op& op : step.ops) {
    INFO(op.name);
    CHECK(ops.insert(op.name).second);
    CHECK(std::set<TensorId>(op.reads.begin(), op.reads.end()).size() == op.reads.size());
    CHECK(std::set<TensorId>(op.writes.begin(), op.writes.end()).size() == op.writes.size());
    CHECK(!op.writes.empty());
    CHECK(op.work.bytes > 0);
  }
}

// All combinations of the flags that change where gradients and results go.
std::vector<StepOptions> AllOptions() {
  std::vector<StepOptions> all;
  for (unsigned bits = 0; bits < 32; ++bits) {
    StepOptions options;
    options.inplace_relu = (bits & 1u) != 0;
    options.inplace_add = (bits & 2u) != 0;
    options.inplace_gradient = (bits & 4u) != 0;
    options.separate_accumulation = (bits & 8u) != 0;
    options.data_first = (bits & 16u) != 0;
    options.update_at_once = options.data_first;
    all.push_back(options);
  }
  return all;
}

// Layers of all kinds that keep the shape, reading earlier ones at random; what nobody reads is added up at the end.
Network RandomNetwork(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  NetworkBuilder b("random" + std::to_string(seed), {.n = 1, .c = 4, .h = 2, .w = 2});
  const std::vector<const char*> kinds{"convolution",  "convolution",   "batch_norm", "relu",      "relu",  "max_pool",
                                       "average_pool", "lrn",           "dropout",    "add",       "add",   "concat",
                                       "leaky_relu",   "sigmoid",       "silu",       "prelu",     "scale", "multiply",
                                       "layer_norm",   "instance_norm", "rms_norm",   "depth_drop"};
  std::vector<LayerId> results{b.Convolution("first", kNetworkInput, Square(4, 1))};
  std::set<LayerId> unread{results[0]};
  const std::size_t layers = 2 + draw(10);
  for (std::size_t i = 0; i < layers; ++i) {
    const std::string kind = kinds[draw(kinds.size())];
    std::vector<LayerId> inputs{results[draw(results.size())]};
    if (kind == "add" || kind == "concat") {
      for (std::size_t more = 1 + draw(2); more > 0; --more) inputs.push_back(results[draw(results.size())]);
    }
    if (kind == "multiply") inputs.push_back(results[draw(results.size())]);
    for (const LayerId id : inputs) unread.erase(id);
    const std::string name = kind + std::to_string(i);
    LayerId id = b.Add(name, kind.c_str(), inputs, Square(kind == "convolution" ? 4 : 0, 1));
    if (kind == "concat") id = b.Convolution(name + "_back", id, Square(4, 1));
    results.push_back(id);
    unread.insert(id);
  }
  LayerId last = *unread.begin();
  if (unread.size() > 1) last = b.AddUp("sum", {unread.begin(), unread.end()});
  return b.Loss(b.Linear("fc", last, 3));
}

}  // namespace

TEST_CASE("gradients of random networks under every combination of options") {
  const std::vector<StepOptions> all = AllOptions();
  for (unsigned seed = 1; seed <= 400; ++seed) {
    const Network network = RandomNetwork(seed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      INFO("seed " << seed << " options " << i);
      CheckGradients(network, all[i]);
      if (seed <= 40) CheckForm(BuildTrainingStep(network, all[i]));
    }
  }
}

// The game has one derivative for all inputs of a layer, which products of inputs do not have.
bool HasOneDerivativeEach(const Network& network) {
  return std::none_of(network.layers.begin(), network.layers.end(), [](const Layer& layer) {
    const std::string kind = layer.kind->name;
    if (kind == "attention") return true;  // written out it has inner gradients
    return std::min(layer.inputs.size(), layer.kind->data_inputs) > 1 && kind != "add" && kind != "concat";
  });
}

TEST_CASE("gradients and form of the zoo under the options of the table") {
  for (const ZooEntry& entry : Zoo()) {
    if (std::string(entry.name).compare(0, 4, "vgg2") == 0 || std::string(entry.name).compare(0, 4, "vgg3") == 0)
      continue;
    const Network network = entry.build({});
    if (!HasOneDerivativeEach(network)) continue;
    for (const StepOptions& options : StepOptionTable()) {
      if (options.inference) continue;  // has no gradients
      INFO(entry.name << " " << options.name);
      CheckGradients(network, options);
      CheckForm(BuildTrainingStep(network, options));
    }
  }
}

TEST_CASE("no step of the zoo needs a copied gradient") {
  // Batch norm stands between the joins and the convolutions that add to their gradients.
  for (const char* name : {"resnet50", "resnext101-3d", "googlenet", "densenet121", "inception-v4"}) {
    for (const Op& op : BuildTrainingStep(BuildZooNetwork(name, {})).ops) CHECK(op.kind != OpKind::kCopy);
  }
}

}  // namespace spillway
