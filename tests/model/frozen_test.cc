// Frozen layers: no gradient, no state, no update, nothing saved for them; files that freeze by name; what is refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "model/network/frozen_layers.h"
#include "model/network/layer_kind.h"
#include "model/network/precision.h"
#include "model/util/random.h"
#include "tests/deep.h"
#include "tests/model/step_lines.h"
#include "tests/saved_bytes.h"
#include "tests/small_networks_today.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

using Catch::Contains;

Network Read(const std::string& text) {
  const Document document = ParseDocument(text, "net.yaml");
  Diagnostics diagnostics(document);
  Network network = ReadNetwork(document.root, diagnostics, 2);
  diagnostics.ThrowIfAny();
  return network;
}

// Each layer's results are 4,096 bytes, up to those of `hidden`.
constexpr const char* kLayers = R"(input: {channels: 4, image: 8}
layers:
  - {name: conv1, kind: convolution, out: 8, window: 3, pad: 1, bias: true}
  - {name: bn1, kind: batch_norm}
  - {name: relu, kind: relu}
  - {name: conv2, kind: convolution, out: 8, window: 3, pad: 1}
  - {name: bn2, kind: batch_norm}
  - {name: prelu, kind: prelu}
  - {name: conv3, kind: convolution, out: 8, window: 3, pad: 1}
  - {name: hidden, kind: linear, out: 16, bias: true}
  - {name: tanh, kind: tanh}
  - {name: fc, kind: linear, out: 3, bias: true}
  - {name: loss, kind: softmax_loss}
)";

Network Freezing(const std::string& names) { return Read("name: n\nfrozen: [" + names + "]\n" + kLayers); }

struct Expected {
  const char* frozen;
  Bytes torch;     // hooks on saved tensors, PyTorch 1.13.1 and 2.15.0 alike, a processor; all distinct storages
  int norms;       // whose running statistics, 64 bytes, are among them; no tensors of a step
  Bytes unneeded;  // convolutions' inputs that PyTorch saves and arithmetic does not need
};

const std::vector<Expected> kExpected = {{"", 27052, 2, 0},
                                         {"conv1, bn1, conv2", 16684, 1, 0},
                                         {"bn2, prelu, conv3, hidden", 22956, 2, 4096},
                                         {"conv1, bn1, conv2, bn2, conv3", 12460, 0, 4096},
                                         {"\"conv*\", \"bn*\", prelu, hidden", 172, 0, 0}};

std::set<std::string> FrozenIn(const Network& network) {
  std::set<std::string> names;
  for (const Layer& layer : network.layers) {
    if (layer.attributes.frozen) names.insert(layer.name);
  }
  return names;
}

bool OfGradientOrState(const Tensor& tensor) {
  return tensor.use == TensorClass::kParameterGradient || tensor.use == TensorClass::kOptimizerState;
}

void CheckNothingTrains(const TrainingStep& step, const std::set<std::string>& frozen) {
  std::set<TensorId> parameters;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const Tensor& tensor = step.tensors[t];
    if (frozen.count(tensor.name.substr(0, tensor.name.find(':'))) == 0) continue;
    INFO(tensor.name);
    CHECK_FALSE(OfGradientOrState(tensor));
    if (tensor.use == TensorClass::kParameter) parameters.insert(static_cast<TensorId>(t));
  }
  for (const Op& op : step.ops) {
    INFO(op.name);
    for (const TensorId t : op.writes) CHECK(parameters.count(t) == 0);
    const bool gradient_alone = op.pass == Pass::kBackwardFilter || op.pass == Pass::kBackwardBias;
    if (gradient_alone) CHECK(frozen.count(step.layer_names[static_cast<std::size_t>(op.layer)]) == 0);
  }
}

std::set<std::string> SavedNames(const TrainingStep& step) {
  std::set<std::string> names;
  for (const TensorId t : SavedTensorsOf(step)) names.insert(step.tensors[static_cast<std::size_t>(t)].name);
  return names;
}

}  // namespace

TEST_CASE("frozen layers: saved bytes are PyTorch's, to the byte") {
  for (const Expected& expected : kExpected) {
    INFO(expected.frozen);
    const Network network = Freezing(expected.frozen);
    const Bytes tensors = expected.torch - 64 * expected.norms - 4;  // 4: the sum of the loss's weights
    for (const char* options : {"torch-1.13", "torch-2"}) {
      CHECK(SavedBytes(BuildTrainingStep(network, StepOptionsByName(options))) == tensors);
    }
    constexpr Bytes kLabels = 16;
    CHECK(SavedBytes(BuildTrainingStep(network, StepOptionsByName("torch"))) == tensors - kLabels - expected.unneeded);
  }
}

// Backward in the order of PyTorch: data, filter, bias.
TEST_CASE("frozen layers: the ops of backward, and bytes by hand") {
  const TrainingStep step = BuildTrainingStep(Freezing("conv1, bn1, bn2, prelu, hidden"), StepOptionsByName("torch"));
  CHECK(OpLines(step, step.first_backward) ==
        StepLines{"loss:backward: loss -> fc:gradient", "fc:backward_data: fc:weight fc:gradient -> tanh:gradient",
                  "fc:backward_filter: tanh fc:gradient -> fc:weight:gradient",
                  "fc:backward_bias: fc:gradient -> fc:bias:gradient",
                  "tanh:backward: tanh tanh:gradient -> hidden:gradient",
                  "hidden:backward_data: hidden:weight hidden:gradient -> conv3:gradient",
                  "conv3:backward_data: conv3:weight conv3:gradient -> prelu:gradient",
                  "conv3:backward_filter: prelu conv3:gradient -> conv3:weight:gradient",
                  "prelu:backward: bn2 prelu:slope prelu:gradient -> bn2:gradient",
                  "bn2:backward: conv2 bn2:gradient bn2:scale bn2:mean bn2:inverse_deviation -> conv2:gradient "
                  "bn2:scale:gradient_unused bn2:shift:gradient_unused",
                  "conv2:backward_filter: bn1 conv2:gradient -> conv2:weight:gradient",
                  "conv2:weight:update: conv2:weight:gradient conv2:weight conv2:weight:momentum -> conv2:weight "
                  "conv2:weight:momentum",
                  "conv3:weight:update: conv3:weight:gradient conv3:weight conv3:weight:momentum -> conv3:weight "
                  "conv3:weight:momentum",
                  "fc:weight:update: fc:weight:gradient fc:weight fc:weight:momentum -> fc:weight fc:weight:momentum",
                  "fc:bias:update: fc:bias:gradient fc:bias fc:bias:momentum -> fc:bias fc:bias:momentum"});
  const Bytes trained = 4 * (2 * 8 * 8 * 9 + 3 * 16 + 3);
  CHECK(step.BytesOf(TensorClass::kParameterGradient) == trained);
  CHECK(step.BytesOf(TensorClass::kOptimizerState) == trained);
  CHECK(step.BytesOf(TensorClass::kParameter) == trained + 4 * (8 * 4 * 9 + 8 + 4 * 8 + 8 + 16 * 512 + 16));
}

TEST_CASE("frozen layers of every kind, drawn: nothing of them trains, and no more is saved than before") {
  std::set<const LayerKind*> seen;
  int draws = 0;
  for (const SmallNetwork& small : kNetworksToday) {
    for (const double share : {0.3, 0.6, 0.9}) {
      Random random(DrawnSeed() * 64 + static_cast<std::uint64_t>(++draws));
      Network network = small.build();
      const StepOptions& options = StepOptionsByName(small.options);
      const std::set<std::string> before = SavedNames(BuildTrainingStep(network, options));
      for (Layer& layer : network.layers) {
        const bool own = !LayerParameters(network, layer).empty() && layer.tied == kNotTied;
        if (!own || !random.Chance(share)) continue;
        layer.attributes.frozen = true;
        seen.insert(layer.kind);
        CHECK((layer.kind->keys & kFrozenKey) != 0);
      }
      INFO(small.name << " " << small.options << " " << share);
      const TrainingStep step = BuildTrainingStep(network, options);
      CheckNothingTrains(step, FrozenIn(network));
      const std::set<std::string> after = SavedNames(step);
      CHECK(std::includes(before.begin(), before.end(), after.begin(), after.end()));
    }
  }
  CHECK(seen.size() >= 8);
}

TEST_CASE("every kind of layer with parameters may be frozen, and no other") {
  for (const LayerKind* kind : LayerKinds()) {
    INFO(kind->name);
    CHECK(((kind->keys & kFrozenKey) != 0) == (kind->parameters != nullptr));
  }
}

TEST_CASE("a frozen layer's weights are cast for autocast, and no gradient comes back") {
  Network network = Freezing("conv3");
  ApplyPrecision(network, PrecisionByName("amp-bf16"));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  CHECK(HasOp(step, "conv3:weight:cast"));
  CHECK(HasOp(step, "conv2:weight:gradient:cast"));
  CHECK_FALSE(HasOp(step, "conv3:weight:gradient:cast"));
  CheckNothingTrains(step, {"conv3"});
}

TEST_CASE("a pattern's star stands for any letters, or none") {
  for (const char* pattern : {"stage1_conv2", "*", "stage1*", "*conv2", "s*1*2", "stage1_conv2*", "**_**"}) {
    INFO(pattern);
    CHECK(MatchesPattern(pattern, "stage1_conv2"));
  }
  for (const char* pattern : {"", "stage1", "stage2*", "*conv", "s*3*2", "stage1_conv2?", "*conv2*a"}) {
    INFO(pattern);
    CHECK_FALSE(MatchesPattern(pattern, "stage1_conv2"));
  }
}

TEST_CASE("frozen: by a layer's key and by the network's list alike; names that are of no layer with parameters") {
  const std::string own = "  - {name: a, kind: linear, out: 4, frozen: true}\n", other = "  - {name: b, kind: relu}\n",
                    end = "  - {name: first, kind: linear, out: 3}\n  - {name: loss, kind: softmax_loss}\n",
                    begin = "name: n\ninput: {channels: 2, image: 2}\n";
  CHECK(FrozenIn(Read(begin + "layers:\n" + own + other + end)) == std::set<std::string>{"a"});
  const std::string listed = "layers:\n  - {name: a, kind: linear, out: 4}\n" + other + end;
  CHECK(FrozenIn(Read(begin + "frozen: [a]\n" + listed)) == std::set<std::string>{"a"});
  CHECK_THAT(
      ErrorOf([&] { Read(begin + "frozen: [a, first1, \"b*\"]\n" + listed); }),
      Contains("net.yaml:3:13: error: frozen: no layer with parameters is named 'first1'; did you mean 'first'?") &&
          Contains("net.yaml:3:21: error: frozen: no layer with parameters is named 'b*'"));
  CHECK_THAT(ErrorOf([&] { Read(begin + "frozen: [\"*\"]\n" + listed); }),
             Contains("layer 'first': is frozen as all others with parameters are: a step would train nothing"));
  CHECK_THAT(ErrorOf([&] { Read(begin + "layers:\n" + own + "  - {name: r, kind: relu, frozen: true}\n" + end); }),
             Contains("unknown key 'frozen' in layer 'r'"));
}

TEST_CASE("a weight that two layers share is frozen by its owner, never by the other alone") {
  const auto shared = [](const std::string& frozen) {
    return Read("name: n\ninput: {tokens: 8}\nfrozen: [" + frozen +
                "]\nlayers:\n"
                "  - {name: words, kind: embedding, vocabulary: 50, out: 16}\n"
                "  - {name: mix, kind: linear, pointwise: true, out: 16}\n"
                "  - {name: head, kind: linear, pointwise: true, out: 50, tied: words, bias: true}\n"
                "  - {name: loss, kind: softmax_loss}\n");
  };
  const TrainingStep step = BuildTrainingStep(shared("words"));
  CHECK_FALSE(HasOp(step, "words:weight:update"));
  CHECK_FALSE(HasOp(step, "head:backward_filter"));
  CHECK(HasOp(step, "head:bias:update"));
  CHECK(HasOp(step, "mix:weight:update"));
  CHECK_THAT(ErrorOf([&] { shared("head"); }),
             Contains("layer 'head': is frozen, and its weight is that of layer 'words', which is not: freeze both"));
}

TEST_CASE("updates at once are refused where all gradients are needed first") {
  Network network = NormChainNetwork();
  const StepOptions at_once = OptionsWith(&StepOptions::update_at_once);
  network.clips_gradients = true;
  CHECK_THAT(ErrorOf([&] { BuildTrainingStep(network, at_once); }),
             Contains("chain: clipping looks at all gradients before the first update"));
  network.clips_gradients = false;
  ApplyPrecision(network, PrecisionByName("amp-fp16"));
  CHECK_THAT(ErrorOf([&] { BuildTrainingStep(network, at_once); }), Contains("a scaled loss looks at all gradients"));
  CHECK(HasOp(BuildTrainingStep(network), "gradients:unscale"));
}

}  // namespace spillway
