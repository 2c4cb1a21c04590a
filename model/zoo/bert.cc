// BERT (Devlin et al. 2019, arXiv 1810.04805) as it is pre-trained: norms behind, two rows of tokens (words, and which
// sentence they are of), and a loss for masked words beside one for the next sentence. Every position's word is predicted.
#include <array>
#include <string>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr double kRate = 0.1;
constexpr std::int64_t kVocabulary = 30522, kSentences = 2, kPositions = 512;

struct Size {
  const char* name;
  std::int64_t features, blocks, heads;
};
constexpr std::array<Size, 2> kSizes{{{"bert-base", 768, 12, 12}, {"bert-large", 1024, 24, 16}}};

LayerId Block(NetworkBuilder& b, const std::string& block, LayerId x, const Size& size) {
  LayerAttributes attention;
  attention.heads = size.heads, attention.dropout = kRate;
  const std::vector<LayerId> qkv{b.Pointwise(block + "_query", x, size.features),
                                 b.Pointwise(block + "_key", x, size.features),
                                 b.Pointwise(block + "_value", x, size.features)};
  LayerId y = b.Pointwise(block + "_proj", b.Add(block + "_attention", "attention", qkv, attention), size.features);
  x = b.Add(block + "_ln1", "layer_norm", {b.AddUp(block + "_add1", {b.Dropout(block + "_drop1", y, kRate), x})});
  y = b.Add(block + "_gelu", "gelu", {b.Pointwise(block + "_fc", x, 4 * size.features)});
  y = b.Dropout(block + "_drop2", b.Pointwise(block + "_out", y, size.features), kRate);
  return b.Add(block + "_ln2", "layer_norm", {b.AddUp(block + "_add2", {y, x})});
}

}  // namespace

// `index` into the sizes.
Network BuildBert(int index, const ZooOptions& options) {
  const Size& size = kSizes[static_cast<std::size_t>(index)];
  NetworkBuilder b(size.name, TextInput(options, kPositions, 2));
  const LayerId words = b.Embedding("words", ClassesOr(options, kVocabulary), size.features);
  const LayerId sentences = b.Embedding("sentences", kSentences, size.features, 1);
  LayerId x = b.Positions("positions", b.AddUp("tokens", {words, sentences}), kPositions);
  x = b.Dropout("drop", b.Add("ln", "layer_norm", {x}), kRate);
  for (std::int64_t k = 0; k < size.blocks; ++k) x = Block(b, "block" + std::to_string(k), x, size);
  const LayerId pooler = b.Add("pooler_tanh", "tanh", {b.First("pooler", x, size.features)});
  const LayerId masked = b.Add("masked_gelu", "gelu", {b.Pointwise("masked", x, size.features)});
  const LayerId decoder = b.Tied("decoder", b.Add("masked_ln", "layer_norm", {masked}), words, true);
  b.AddLoss("masked_loss", decoder, 1);
  b.AddLoss("next_loss", b.Linear("next", pooler, 2), 1);
  return b.Finish();
}

}  // namespace spillway
