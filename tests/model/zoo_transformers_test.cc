// Transformers of the zoo: parameters as published, and what PyTorch saves for their backward passes.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/network/layer_kind.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/saved_bytes.h"

namespace spillway {
namespace {

double SavedMegabytes(const char* network, std::int64_t batch, const char* options) {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName(options));
  return static_cast<double>(SavedBytes(step)) / 1e6 / static_cast<double>(batch);
}

std::int64_t ParametersOf(const Network& network, const std::string& prefix) {
  std::int64_t count = 0;
  for (const Layer& layer : network.layers) {
    if (!layer.name.starts_with(prefix)) continue;
    for (const ParameterShape& p : LayerParameters(network, layer)) count += p.shape.Elements();
  }
  return count;
}

}  // namespace

TEST_CASE("parameters of transformers are the published ones") {
  const std::vector<std::pair<const char*, std::int64_t>> counts{
      {"vit-b16", 86567656},        {"vit-l16", 304326632},       {"vit-h14", 632045800},
      {"gpt2", 124439808},          {"gpt2-medium", 354823168},   {"gpt2-large", 774030080},
      {"gpt2-xl", 1557611200},      {"bert-base", 110106428},     {"bert-large", 336226108},
      {"llama-3.2-1b", 1235814400}, {"llama-3.2-3b", 3212749824}, {"llama-3-8b", 8030261248}};
  for (const auto& [name, count] : counts) {
    INFO(name);
    CHECK(CountParameters(BuildZooNetwork(name, {})) == count);
  }
}

TEST_CASE("BERT without the heads of pre-training has the published parameters, too") {
  for (const auto& [name, count] : {std::pair{"bert-base", 109482240}, std::pair{"bert-large", 335141888}}) {
    INFO(name);
    const Network network = BuildZooNetwork(name, {});
    const std::int64_t heads =
        ParametersOf(network, "masked") + ParametersOf(network, "decoder") + ParametersOf(network, "next");
    CHECK(CountParameters(network) - heads == count);
  }
}

// By hooks on saved tensors, fp32, batch 2, with the image: PyTorch 1.13.1 writes attention out, 2.15.0 computes it fused.
TEST_CASE("saved bytes of ViT-B/16 are PyTorch's") {
  CHECK(SavedMegabytes("vit-b16", 2, "torch-1.13") == Approx(140.41).margin(0.01));
  CHECK(SavedMegabytes("vit-b16", 2, "torch-2") == Approx(118.16).margin(0.01));
}

// PyTorch 2.15.0 saves 3235.42 MB for GPT-2 at 1 x 1024 on a processor. Ours is off, and stays so: what that run keeps
// beside ours is of Hugging Face's model and of processors. Added up it is the difference.
TEST_CASE("what GPT-2 saves differs from PyTorch's on a processor by what is known of it") {
  Network network = BuildZooNetwork("gpt2", {});
  for (Layer& layer : network.layers) layer.attributes.fused = false;  // with dropout processors have no fused kernel
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("torch-2"));
  const double ours = static_cast<double>(SavedBytes(step)) / 1e6;
  const double map = 4 * 768 * 1024 / 1e6, scores = 4 * 12 * 1024 * 1024 / 1e6, blocks = 12;
  double more = blocks * 2 * map;                             // queries and keys, scaled, are copies
  more += blocks * 3 * 4 * map;                               // GELU in four ops, each of which saves a map of 4 x 768
  more += 0.75 * (blocks * scores + (2 * blocks + 1) * map);  // masks of four bytes, not of one
  more += 8 * 1024 / 1e6;                                     // the positions' numbers: an embedding, where ours adds
  INFO(ours << " and " << more << " MB more");
  CHECK(ours + more == Approx(3235.42).margin(0.01));
  CHECK(ours < 2500);
}

// Per token and block of width d, elements: norm in and out 4, queries, keys and values 3, result 1, feed-forward 4 + 4;
// and four bytes a head, 16 of two norms.
TEST_CASE("a block of fused attention keeps 16 maps") {
  const auto saved = [](const char* name) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(name, {}), StepOptionsByName("torch-2"));
    Bytes sum = 0;
    for (const TensorId t : SavedTensorsOf(step)) {
      const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
      if (tensor.name.starts_with("block3_")) sum += tensor.bytes;
    }
    return sum;
  };
  CHECK(saved("vit-b16") == 197 * (16 * 768 * 4 + 4 * 12 + 16));
  CHECK(saved("vit-l16") == 197 * (16 * 1024 * 4 + 4 * 16 + 16));
}

}  // namespace spillway
