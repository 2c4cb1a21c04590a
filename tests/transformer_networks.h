// Transformers that take milliseconds to train: one of each family, with what is easy to get wrong.
#ifndef SPILLWAY_TESTS_TRANSFORMER_NETWORKS_H_
#define SPILLWAY_TESTS_TRANSFORMER_NETWORKS_H_

#include <string>
#include <vector>

#include "model/zoo/network_builder.h"

namespace spillway {

inline LayerAttributes InHeads(std::int64_t heads, bool causal = false, double dropout = 0) {
  LayerAttributes attributes;
  attributes.heads = heads, attributes.causal = causal, attributes.dropout = dropout;
  return attributes;
}

// GPT-2: packed causal attention with dropout, a tied head; fewer tokens than position vectors.
inline Network TinyGpt() {
  NetworkBuilder b("tiny-gpt", {.n = 4, .c = 1, .w = 6});
  const LayerId tokens = b.Embedding("wte", 11, 8);
  LayerId x = b.Dropout("drop", b.Positions("wpe", tokens, 9), 0.1);
  for (const char* block : {"h0", "h1"}) {
    const std::string name = block;
    LayerId y = b.Pointwise(name + "_qkv", b.Add(name + "_ln1", "layer_norm", {x}), 24);
    y = b.Pointwise(name + "_proj", b.Add(name + "_attention", "attention", {y}, InHeads(2, true, 0.2)), 8);
    x = b.AddUp(name + "_add1", {b.Dropout(name + "_drop", y, 0.1), x});
    y = b.Add(name + "_gelu", "gelu_tanh", {b.Pointwise(name + "_fc", b.Add(name + "_ln2", "layer_norm", {x}), 16)});
    x = b.AddUp(name + "_add2", {b.Pointwise(name + "_out", y, 8), x});
  }
  return b.Loss(b.Tied("head", b.Add("ln_f", "layer_norm", {x}), tokens, true));
}

// ViT: patches, a class token, which alone is classified.
inline Network TinyVit() {
  NetworkBuilder b("tiny-vit", {.n = 4, .c = 3, .h = 8, .w = 8});
  LayerId x = b.Convolution("patches", kNetworkInput, WithBias(Square(8, 4, 4)));
  x = b.Positions("positions", b.Add("class_token", "class_token", {x}));
  for (const char* block : {"b0", "b1"}) {
    const std::string name = block;
    LayerId y = b.Pointwise(name + "_qkv", b.Add(name + "_ln1", "layer_norm", {x}), 24);
    y = b.Pointwise(name + "_proj", b.Add(name + "_attention", "attention", {y}, InHeads(4)), 8);
    x = b.AddUp(name + "_add1", {y, x});
    y = b.Add(name + "_gelu", "gelu", {b.Pointwise(name + "_fc", b.Add(name + "_ln2", "layer_norm", {x}), 32)});
    x = b.AddUp(name + "_add2", {x, b.Pointwise(name + "_out", y, 8)});
  }
  return b.Loss(b.First("head", b.Add("ln", "layer_norm", {x}), 4));
}

// Llama: rotated queries and keys, two of three heads' queries on one head of keys; queries of another length; one layer
// as queries, keys and values at once; a gate by softmax along the width.
inline Network TinyLlama() {
  NetworkBuilder b("tiny-llama", {.n = 4, .c = 1, .w = 5});
  LayerId x = b.Embedding("embedding", 7, 8);
  const LayerId normed = b.Add("norm1", "rms_norm", {x});
  LayerAttributes rope = InHeads(4), grouped = InHeads(4, true), one = InHeads(2);
  grouped.kv_heads = 2;
  const LayerId query = b.Add("q_rope", "rope", {b.Pointwise("q", normed, 8, false)}, rope);
  rope.heads = 2;
  const LayerId key = b.Add("k_rope", "rope", {b.Pointwise("k", normed, 4, false)}, rope);
  const LayerId value = b.Pointwise("v", normed, 4, false);
  LayerId y = b.Add("attention", "attention", {query, key, value}, grouped);
  x = b.AddUp("add1", {x, b.Pointwise("o", y, 8, false)});
  y = b.Add("norm2", "rms_norm", {x});
  LayerAttributes along;
  along.last_axis = true;
  const LayerId gate = b.Add("gate_softmax", "softmax", {b.Pointwise("gate", y, 8, false)}, along);
  x = b.AddUp("add2", {x, b.Add("gated", "multiply", {b.Add("silu", "silu", {b.Pointwise("up", y, 8, false)}), gate})});
  const LayerId shared = b.Add("self", "attention", {x, x, x}, one);
  const LayerId short_query = b.Add("short", "crop", {x}, {.image = {0, 1, 3}});
  one.fused = false;
  const LayerId cross = b.Add("cross", "attention", {short_query, shared, shared}, one);
  return b.Loss(b.Pointwise("head", b.Add("spread", "softmax", {cross}), 7, false));
}

// BERT: two rows of tokens, two losses, one of them of the first position.
inline Network TinyBert() {
  NetworkBuilder b("tiny-bert", {.n = 4, .c = 2, .w = 5});
  const LayerId words = b.Embedding("words", 9, 8), kinds = b.Embedding("kinds", 2, 8, 1);
  LayerId x = b.Add("ln", "layer_norm", {b.Positions("positions", b.AddUp("sum", {words, kinds}))});
  const std::vector<LayerId> qkv{b.Pointwise("q", x, 8), b.Pointwise("k", x, 8), b.Pointwise("v", x, 8)};
  const LayerId y = b.Pointwise("proj", b.Add("attention", "attention", qkv, InHeads(2, false, 0.1)), 8);
  x = b.Add("ln2", "layer_norm", {b.AddUp("add", {y, x})});
  b.AddLoss("masked", b.Tied("decoder", x, words, true), 0.75);
  b.AddLoss("next", b.Linear("fc", b.Add("tanh", "tanh", {b.First("pooler", x, 8)}), 2), 0.25);
  return b.Finish();
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_TRANSFORMER_NETWORKS_H_
