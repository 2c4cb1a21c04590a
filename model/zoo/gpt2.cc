// GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"): norms in front, learned positions, a
// head that shares the embedding's weight.
#include <array>
#include <string>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr double kRate = 0.1;
constexpr std::int64_t kVocabulary = 50257, kPositions = 1024;

struct Size {
  const char* name;
  std::int64_t features, blocks, heads;
};
constexpr std::array<Size, 4> kSizes{
    {{"gpt2", 768, 12, 12}, {"gpt2-medium", 1024, 24, 16}, {"gpt2-large", 1280, 36, 20}, {"gpt2-xl", 1600, 48, 25}}};

LayerId Block(NetworkBuilder& b, const std::string& block, LayerId x, const Size& size) {
  LayerAttributes attention;
  attention.heads = size.heads, attention.causal = true, attention.dropout = kRate;
  LayerId y = b.Pointwise(block + "_qkv", b.Add(block + "_ln1", "layer_norm", {x}), 3 * size.features);
  y = b.Pointwise(block + "_proj", b.Add(block + "_attention", "attention", {y}, attention), size.features);
  x = b.AddUp(block + "_add1", {b.Dropout(block + "_drop1", y, kRate), x});
  y = b.Pointwise(block + "_fc", b.Add(block + "_ln2", "layer_norm", {x}), 4 * size.features);
  y = b.Pointwise(block + "_out", b.Add(block + "_gelu", "gelu_tanh", {y}), size.features);
  return b.AddUp(block + "_add2", {b.Dropout(block + "_drop2", y, kRate), x});
}

}  // namespace

// `index` into the sizes.
Network BuildGpt2(int index, const ZooOptions& options) {
  const Size& size = kSizes[static_cast<std::size_t>(index)];
  NetworkBuilder b(size.name, TextInput(options, kPositions));
  const LayerId tokens = b.Embedding("wte", ClassesOr(options, kVocabulary), size.features);
  LayerId x = b.Dropout("drop", b.Positions("wpe", tokens, kPositions), kRate);
  for (std::int64_t k = 0; k < size.blocks; ++k) x = Block(b, "h" + std::to_string(k), x, size);
  return b.Loss(b.Tied("lm_head", b.Add("ln_f", "layer_norm", {x}), tokens, false));
}

}  // namespace spillway
