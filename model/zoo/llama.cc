// Llama 3 (Grattafiori et al. 2024, arXiv 2407.21783, table 3) and 3.2 (Meta's model cards, 2024): RMS norms, rotated
// positions, grouped heads, gated feed-forward layers; the small ones share the embedding's weight with the head.
#include <array>
#include <string>

#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr std::int64_t kVocabulary = 128256, kPositions = 4096, kKvHeads = 8;

struct Size {
  const char* name;
  std::int64_t features, blocks, heads, head, hidden;
  bool tied;
};
constexpr std::array<Size, 3> kSizes{{{"llama-3.2-1b", 2048, 16, 32, 64, 8192, true},
                                      {"llama-3.2-3b", 3072, 28, 24, 128, 8192, true},
                                      {"llama-3-8b", 4096, 32, 32, 128, 14336, false}}};

LayerId Rotated(NetworkBuilder& b, const std::string& name, LayerId x, std::int64_t heads, std::int64_t features) {
  LayerAttributes rope;
  rope.heads = heads;
  return b.Add(name + "_rope", "rope", {b.Pointwise(name, x, features, false)}, rope);
}

LayerId Attention(NetworkBuilder& b, const std::string& block, LayerId x, const Size& size) {
  LayerAttributes attention;
  attention.heads = size.heads, attention.kv_heads = kKvHeads, attention.causal = true;
  const LayerId query = Rotated(b, block + "_query", x, size.heads, size.heads * size.head);
  const LayerId key = Rotated(b, block + "_key", x, kKvHeads, kKvHeads * size.head);
  const LayerId value = b.Pointwise(block + "_value", x, kKvHeads * size.head, false);
  const LayerId y = b.Add(block + "_attention", "attention", {query, key, value}, attention);
  return b.Pointwise(block + "_proj", y, size.features, false);
}

LayerId Block(NetworkBuilder& b, const std::string& block, LayerId x, const Size& size) {
  const LayerId attended = Attention(b, block, b.Add(block + "_norm1", "rms_norm", {x}), size);
  x = b.AddUp(block + "_add1", {x, attended});
  const LayerId y = b.Add(block + "_norm2", "rms_norm", {x});
  const LayerId gate = b.Add(block + "_silu", "silu", {b.Pointwise(block + "_gate", y, size.hidden, false)});
  const LayerId up = b.Pointwise(block + "_up", y, size.hidden, false);
  const LayerId down =
      b.Pointwise(block + "_down", b.Add(block + "_gated", "multiply", {gate, up}), size.features, false);
  return b.AddUp(block + "_add2", {x, down});
}

}  // namespace

// `index` into the sizes.
Network BuildLlama(int index, const ZooOptions& options) {
  const Size& size = kSizes[static_cast<std::size_t>(index)];
  NetworkBuilder b(size.name, TextInput(options, kPositions));
  const std::int64_t vocabulary = ClassesOr(options, kVocabulary);
  const LayerId tokens = b.Embedding("embedding", vocabulary, size.features);
  LayerId x = tokens;
  for (std::int64_t k = 0; k < size.blocks; ++k) x = Block(b, "block" + std::to_string(k), x, size);
  x = b.Add("norm", "rms_norm", {x});
  return b.Loss(size.tied ? b.Tied("head", x, tokens, false) : b.Pointwise("head", x, vocabulary, false));
}

}  // namespace spillway
